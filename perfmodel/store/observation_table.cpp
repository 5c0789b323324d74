#include "perfmodel/store/observation_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/text.h"
#include "runtime/schema/input_file.h"

namespace scavenger::perfmodel {
namespace {

constexpr std::array<std::string_view, 13> kColumns = {"workers",
                                                       "batch_size",
                                                       "iteration_seconds",
                                                       "iteration_milliseconds",
                                                       "standard_error",
                                                       "iterations",
                                                       "epochs",
                                                       "seconds",
                                                       "hours",
                                                       "noise",
                                                       "noise_scale",
                                                       "machine",
                                                       "job"};

using Row = std::map<std::string, std::string>;  // header -> cell

struct Line {
  std::string where;
  Row cells;
};

[[noreturn]] void refuse(const std::string& where, std::string what, std::string remedy) {
  throw DataError({.what = std::move(what), .where = where, .remedy = std::move(remedy)});
}

std::vector<std::string> split_line(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back().push_back(c);
  }
  for (std::string& cell : cells) {
    const auto first = cell.find_first_not_of(" \t");
    cell = first == std::string::npos
               ? ""
               : cell.substr(first, cell.find_last_not_of(" \t") + 1 - first);
  }
  return cells;
}

std::vector<Line> read_csv(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  std::string line;
  std::vector<std::string> header;
  std::vector<Line> lines;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#') continue;
    const std::string where = fmt::format("{}:{}", file, number);
    std::vector<std::string> cells = split_line(line);
    if (header.empty()) {
      header = std::move(cells);
      continue;
    }
    if (cells.size() != header.size())
      refuse(where, fmt::format("{} cells under a header of {}", cells.size(), header.size()),
             "give every line as many as the first");
    Line one{where, {}};
    for (std::size_t i = 0; i < cells.size(); ++i) one.cells[header[i]] = cells[i];
    lines.push_back(std::move(one));
  }
  return lines;
}

std::vector<Line> read_json(const std::string& text, const std::string& file) {
  const auto document = try_parse_json(text).value_or(nullptr);
  if (!document.is_array())
    refuse(file, "this is no JSON list of objects",
           "give one object per observation: [{\"workers\": 2, \"batch_size\": 64, ...}, ...]");
  std::vector<Line> lines;
  for (std::size_t i = 0; i < document.size(); ++i) {
    Line one{fmt::format("{}: [{}]", file, i), {}};
    if (!document[i].is_object()) refuse(one.where, "this is no object", "see docs/plan.md");
    for (const auto& [key, value] : document[i].items()) {
      if (value.is_null()) continue;
      one.cells[key] = value.is_string() ? value.get<std::string>() : json_text(value);
    }
    lines.push_back(std::move(one));
  }
  return lines;
}

// One line, by the names of the columns.
class Cells final {
 public:
  Cells(const Line& line, const TableFormat& format) : line_(line), format_(format) {}

  std::string text(const std::string& column) const {
    const auto renamed = format_.headers.find(column);
    const auto found =
        line_.cells.find(renamed == format_.headers.end() ? column : renamed->second);
    return found == line_.cells.end() ? "" : found->second;
  }
  std::optional<double> number(const std::string& column) const {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    double value = 0.0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value))
      refuse(line_.where, fmt::format("{} is \"{}\", which is no finite number", column, cell),
             "correct it, or leave the cell empty");
    if (value < 0.0 || (value == 0.0 && column != "standard_error" && column != "noise_scale"))
      refuse(line_.where, fmt::format("{} is {}, and must be positive", column, cell),
             "correct it, or leave the cell empty");
    return value;
  }
  double needed(const std::string& column) const {
    const auto value = number(column);
    if (!value)
      refuse(line_.where, fmt::format("{} is missing", column),
             fmt::format("name its column: --column {}=HEADER", column));
    return *value;
  }
  // Of two columns with one meaning in different units.
  std::optional<double> either(const std::string& column, const std::string& other,
                               double other_unit) const {
    const auto value = number(column), second = number(other);
    if (value && second && std::abs(*second * other_unit / *value - 1.0) > 0.01)
      refuse(
          line_.where,
          fmt::format("{} ({}) and {} ({}) contradict each other", column, *value, other, *second),
          "leave one of them out");
    if (value) return value;
    return second ? std::optional(*second * other_unit) : std::nullopt;
  }

 private:
  const Line& line_;
  const TableFormat& format_;
};

void check_columns(const std::vector<Line>& lines, const TableFormat& format,
                   const std::string& file) {
  if (lines.empty()) refuse(file, "there are no observations", "see docs/plan.md");
  for (const auto& [column, header] : format.headers) {
    if (std::find(kColumns.begin(), kColumns.end(), column) == kColumns.end())
      refuse("--column", fmt::format("there is no column \"{}\"", column),
             fmt::format("use {}", fmt::join(kColumns, ", ")));
    if (lines.front().cells.count(header) == 0)
      refuse(file, fmt::format("there is no header \"{}\"", header), "correct --column");
  }
  for (const auto& [header, value] : format.rows)
    if (lines.front().cells.count(header) == 0)
      refuse(file, fmt::format("there is no header \"{}\"", header), "correct --where");
}

// A run's seconds, its epochs and its iterations' seconds say the same, or a unit is wrong.
void check_units(const Line& line, double batch_size, double iteration_seconds, double epochs,
                 double seconds, double samples_per_epoch) {
  const double expected = epochs * samples_per_epoch / batch_size * iteration_seconds;
  if (seconds > 3.0 * expected || seconds < expected / 3.0)
    refuse(line.where,
           fmt::format("the run took {:.4g} s, but {:.4g} epochs of {:.6g} samples at B = {} and "
                       "{:.4g} s per iteration take {:.4g} s",
                       seconds, epochs, samples_per_epoch, batch_size, iteration_seconds, expected),
           "check the units, and --samples");
}

void add_row(const Line& line, const TableFormat& format, double samples_per_epoch,
             std::size_t index, ModelRecord& record) {
  const Cells cells(line, format);
  const double workers = cells.needed("workers"), batch = cells.needed("batch_size");
  const std::string given_job = cells.text("job");
  const std::string job = given_job.empty() ? fmt::format("row {}", index) : given_job;
  const auto iteration = cells.either("iteration_seconds", "iteration_milliseconds", 1e-3);
  const auto seconds = cells.either("seconds", "hours", 3600.0);
  const auto epochs = cells.number("epochs");
  if (iteration)
    record.times.push_back({job, cells.text("machine"), workers, batch, *iteration,
                            cells.number("standard_error").value_or(0.0),
                            cells.number("iterations").value_or(0.0)});
  if (epochs) record.epochs.push_back({job, "", workers, batch, *epochs, seconds.value_or(0.0)});
  if (iteration && epochs && seconds && samples_per_epoch > 0.0)
    check_units(line, batch, *iteration, *epochs, *seconds, samples_per_epoch);
  const auto noise = cells.number("noise"), scale = cells.number("noise_scale");
  if (noise || scale)
    record.noise.push_back({job, 1, workers, batch, scale.value_or(0.0), scale.value_or(0.0),
                            scale.value_or(0.0), noise.value_or(0.0), 0.0});
}

}  // namespace

ModelRecord read_observation_table(const std::filesystem::path& path, const TableFormat& format,
                                   double samples_per_epoch) {
  const std::string text(
      without_byte_order_mark(read_input_file(path, "name a table, as CSV or JSON")));
  const bool is_json = text.find_first_not_of(" \t\r\n") != std::string::npos &&
                       text[text.find_first_not_of(" \t\r\n")] == '[';
  const std::vector<Line> lines =
      is_json ? read_json(text, path.string()) : read_csv(text, path.string());
  check_columns(lines, format, path.string());
  ModelRecord record;
  record.name = path.stem().string();
  record.signature.data_set = path.filename().string();
  record.signature.samples_per_epoch = static_cast<std::uint64_t>(samples_per_epoch);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto counts = [&](const auto& wanted) {
      const auto cell = lines[i].cells.find(wanted.first);
      return cell != lines[i].cells.end() && cell->second == wanted.second;
    };
    if (std::all_of(format.rows.begin(), format.rows.end(), counts))
      add_row(lines[i], format, samples_per_epoch, i, record);
  }
  if (record.times.empty() && record.epochs.empty() && record.noise.empty())
    refuse(path.string(), "no row that counts has an observation",
           fmt::format("give some of the columns {}", fmt::join(kColumns, ", ")));
  try {
    check_record(record);
  } catch (const DataError& error) {
    refuse(path.string() + ": " + error.problem().where, error.problem().what,
           error.problem().remedy);
  }
  return record;
}

}  // namespace scavenger::perfmodel
