#include "elastic/vms/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/schema/input_file.h"

namespace scavenger::elastic {

namespace {

std::string without_blanks(std::string_view cell) {
  const auto begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
  return std::string(begin == std::string_view::npos ? "" : cell.substr(begin, end - begin + 1));
}

}  // namespace

std::vector<std::string> cells_of_line(std::string_view line, char separator) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> cells;
  while (true) {
    const std::size_t end = std::min(line.find(separator), line.size());
    cells.push_back(without_blanks(line.substr(0, end)));
    if (end == line.size()) return cells;
    line.remove_prefix(end + 1);
  }
}

TableFile::TableFile(std::filesystem::path file, std::string remedy, char separator)
    : file_(std::move(file)),
      remedy_(std::move(remedy)),
      separator_(separator),
      text_(without_byte_order_mark(read_input_file(file_, remedy_))) {
  read_line(columns_);
  while (!columns_.empty() && columns_.back().empty()) columns_.pop_back();
  for (const std::string& column : columns_)
    if (std::ranges::count(columns_, column) > 1)
      refuse_table(fmt::format("the column {} is there twice", column));
}

void TableFile::require_column(const std::string& column) const {
  if (std::ranges::count(columns_, column) == 0)
    refuse_table(fmt::format("there is no column {}", column));
}

bool TableFile::read_line(std::vector<std::string>& cells) {
  if (begin_ >= text_.size()) return false;
  const std::size_t end = std::min(text_.find('\n', begin_), text_.size());
  cells = cells_of_line(std::string_view(text_).substr(begin_, end - begin_), separator_);
  begin_ = end + 1;
  ++line_;
  return true;
}

bool TableFile::next() {
  std::vector<std::string> cells;
  while (read_line(cells)) {
    if (std::ranges::all_of(cells, &std::string::empty)) continue;
    cells_.clear();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i < columns_.size())
        cells_[columns_[i]] = std::move(cells[i]);
      else if (!cells[i].empty())
        refuse("there are more cells than columns");
    }
    return true;
  }
  return false;
}

std::string TableFile::text(const std::string& column) const {
  const auto found = cells_.find(column);
  return found == cells_.end() ? std::string() : found->second;
}

std::string TableFile::required_text(const std::string& column) const {
  std::string cell = text(column);
  if (cell.empty()) refuse(fmt::format("there is no {}", column));
  return cell;
}

std::string TableFile::present_text(const std::string& column) const {
  if (!cells_.contains(column)) refuse(fmt::format("there is no {}", column));
  return text(column);
}

std::optional<double> TableFile::number(const std::string& column, bool or_zero) const {
  const std::string cell = text(column);
  if (cell.empty()) return std::nullopt;
  const auto value = finite_number(cell);
  if (!value || *value < 0.0 || (*value == 0.0 && !or_zero))
    refuse(fmt::format("{} \"{}\" is not a positive number", column, cell));
  return value;
}

double TableFile::required_number(const std::string& column) const {
  const auto value = number(column);
  if (!value) refuse(fmt::format("there is no {}", column));
  return *value;
}

void TableFile::refuse(std::string what) const {
  refuse_at(line_, std::move(what));
}

void TableFile::refuse_table(std::string what) const {
  refuse_at(1, std::move(what));
}

void TableFile::refuse_at(std::size_t line, std::string what) const {
  throw InputError({.what = std::move(what),
                    .where = fmt::format("{}:{}", file_.string(), line),
                    .remedy = remedy_});
}

}  // namespace scavenger::elastic
