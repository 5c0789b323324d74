#include "campaign/result/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::campaign {
namespace {

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    std::string_view cell = line.substr(begin, end - begin);
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\r')) cell.remove_suffix(1);
    cells.emplace_back(cell);
    begin = end + 1;
  }
  return cells;
}

std::optional<double> number_of(const std::string& cell) {
  char* end = nullptr;
  const double number = std::strtod(cell.c_str(), &end);
  if (cell.empty() || end != cell.c_str() + cell.size()) return std::nullopt;
  return number;
}

[[noreturn]] void fail(std::string what, const std::string& where) {
  throw DataError({.what = std::move(what), .where = where, .remedy = {}});
}

void collect(const nlohmann::json& object, const std::string& prefix,
             std::map<std::string, double>& numbers) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) collect(value, prefix + key + ".", numbers);
    if (value.is_number()) numbers[prefix + key] = value.get<double>();
  }
}

}  // namespace

const std::vector<double>* NumberTable::find(const std::string& name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &columns[static_cast<std::size_t>(found - names.begin())];
}

NumberTable parse_number_table(const std::string& text, const std::string& name) {
  NumberTable table;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> cells = cells_of(line);
    if (table.names.empty()) {
      table.names = cells;
      table.columns.resize(cells.size());
      continue;
    }
    const std::string where = fmt::format("{}:{}", name, line_number);
    if (cells.size() != table.names.size())
      fail(fmt::format("the line has {} cells instead of {}", cells.size(), table.names.size()),
           where);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto number = number_of(cells[i]);
      if (!number)
        fail(fmt::format("\"{}\" in column {} is not a number", cells[i], table.names[i]), where);
      table.columns[i].push_back(*number);
    }
  }
  if (table.names.empty()) fail("the table is empty", name);
  return table;
}

std::string text_of(const NumberTable& table) {
  std::string text;
  for (std::size_t i = 0; i < table.names.size(); ++i) text += (i == 0 ? "" : ",") + table.names[i];
  text += '\n';
  const std::size_t rows = table.columns.empty() ? 0 : table.columns[0].size();
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ",", table.columns[i][row]);
    text += '\n';
  }
  return text;
}

std::map<std::string, double> parse_numbers(const std::string& text, const std::string& name) {
  const auto document = try_parse_json(text);
  if (!document || !document->is_object()) fail("it is not a JSON object", name);
  std::map<std::string, double> numbers;
  collect(*document, "", numbers);
  return numbers;
}

bool is_json_file(const std::string& name) {
  return name.ends_with(".json");
}

bool is_table_file(const std::string& name) {
  return name.ends_with(".csv");
}

const ResultFile* find_file(const std::vector<ResultFile>& files, const std::string& name) {
  const auto found = std::ranges::find(files, name, &ResultFile::name);
  return found == files.end() ? nullptr : &*found;
}

Profile read_profile(const std::vector<ResultFile>& files, const ProfileColumns& columns) {
  const ResultFile* const file = find_file(files, columns.file);
  if (file == nullptr) fail("there is no such result", columns.file);
  const NumberTable table = parse_number_table(file->content, file->name);
  const auto column = [&](const std::string& name) {
    const std::vector<double>* const found = table.find(name);
    if (found == nullptr) fail(fmt::format("there is no column \"{}\"", name), file->name);
    return *found;
  };
  Profile profile;
  profile.x = column(columns.x);
  for (const std::string& name : columns.y) profile.y.push_back(column(name));
  for (const std::string& name : columns.errors) profile.errors.push_back(column(name));
  return profile;
}

std::uint64_t read_reached_step(const std::vector<ResultFile>& files, const ReachedStep& reached) {
  const ResultFile* const file = find_file(files, reached.file);
  if (file == nullptr) fail("there is no such result", reached.file);
  std::optional<double> step;
  if (reached.key.empty()) {
    const std::vector<std::string> lines =
        cells_of(file->content.substr(0, file->content.find('\n')));
    step = number_of(lines.empty() ? "" : lines.front());
  } else {
    const auto numbers = parse_numbers(file->content, file->name);
    const auto found = numbers.find(reached.key);
    if (found != numbers.end()) step = found->second;
  }
  if (!step || !(*step >= 0.0 && *step < 1e15) || std::floor(*step) != *step)
    fail("there is no number of steps", reached.file);
  return static_cast<std::uint64_t>(*step);
}

}  // namespace scavenger::campaign
