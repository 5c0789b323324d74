#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/data/readers/data_file.h"
#include "runtime/data/readers/source_readers.h"

namespace scavenger {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Takes the text up to the comma that ends the field. A comma between quotes does not end it.
std::string_view take_raw_field(std::string_view& rest) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < rest.size() && (quoted || rest[end] != ','); ++end)
    if (rest[end] == '"') quoted = !quoted;
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

std::string unquote(std::string_view field) {
  field = trim(field);
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  std::string text;
  for (std::size_t i = 1; i + 1 < field.size(); ++i) {
    text += field[i];
    if (field[i] == '"' && field[i + 1] == '"') ++i;  // a quote inside quotes is doubled
  }
  return text;
}

void split_line(std::string_view line, std::vector<std::string>& fields) {
  fields.clear();
  const bool ends_with_empty_field = line.ends_with(',');
  while (!line.empty()) fields.push_back(unquote(take_raw_field(line)));
  if (ends_with_empty_field) fields.emplace_back();
}

std::optional<double> parse_number(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  // A number that is too large for a float is not accepted either.
  if (error != std::errc{} || end != field.data() + field.size() ||
      !std::isfinite(static_cast<float>(value)))
    return std::nullopt;
  return value;
}

class CsvReader final {
 public:
  CsvReader(const DataSourceConfig& source, std::uint32_t classes, const std::string& section)
      : source_(source), classes_(classes), section_(section) {
    table_.feature_type = FeatureType::kFloat32;
  }

  // Lines without a label, which have `count` fields, are accepted, too. The value of a label is
  // then not checked.
  void expect_features(std::uint64_t count) { feature_count_ = count; }
  void append_file(const std::filesystem::path& path);
  SampleTable finish();

 private:
  std::string place(std::size_t line) const { return fmt::format("{}:{}", path_.string(), line); }
  void take_line(std::size_t line);
  void take_header(std::size_t line);
  bool looks_like_sample() const;
  void take_first_line(std::size_t line);
  void take_sample(std::size_t line);
  std::size_t find_label_column(std::size_t line) const;
  bool names_a_class(std::size_t column) const;
  [[noreturn]] void throw_not_a_number(std::size_t line, std::size_t column) const;

  const DataSourceConfig& source_;
  const std::uint32_t classes_;
  const std::string& section_;
  SampleTable table_;
  std::vector<std::string> names_;  // of the columns, if there is a header
  std::size_t column_count_ = 0;    // 0: no line seen yet
  std::size_t lines_ = 0;           // lines that contain a sample
  std::size_t label_column_ = 0;
  std::optional<std::uint64_t> feature_count_;  // set if only features are read

  std::filesystem::path path_;  // of the file being read
  bool header_is_due_ = false;
  std::vector<std::string> fields_;  // of the line being read
};

void CsvReader::append_file(const std::filesystem::path& path) {
  path_ = path;
  header_is_due_ = source_.has_header;
  const std::size_t lines_before = lines_;
  const std::string text = DataFile(path).read_rest();
  std::string_view rest = without_byte_order_mark(text);
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view content = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (content.empty()) continue;
    split_line(content, fields_);
    take_line(line);
  }
  if (lines_ == lines_before)
    throw DataError(
        {.what = "the file holds no samples",
         .where = path.string(),
         .remedy = "name a file with a line for each sample in " + section_ + ".files"});
}

void CsvReader::take_line(std::size_t line) {
  // Nobody says of a file of features alone whether its first line names them.
  const bool may_name = feature_count_ && line == 1 && !source_.has_header;
  const auto is_number = [](const std::string& field) { return parse_number(field).has_value(); };
  if (may_name && std::ranges::none_of(fields_, is_number)) return;
  if (column_count_ == 0) take_first_line(line);
  if (fields_.size() != column_count_)
    throw DataError({.what = fmt::format("this line has {} fields, the lines before have {}",
                                         fields_.size(), column_count_),
                     .where = place(line),
                     .remedy = "give every line the same number of comma-separated fields"});
  if (header_is_due_)
    take_header(line);
  else
    take_sample(line);
}

void CsvReader::take_first_line(std::size_t line) {
  column_count_ = fields_.size();
  if (source_.has_header) names_ = fields_;
  if (feature_count_ && column_count_ == *feature_count_) {
    label_column_ = column_count_;
    table_.sample_shape = {static_cast<std::int64_t>(column_count_)};
    return;
  }
  if (column_count_ < 2)
    throw DataError({.what = "this line has one field: there is no room for features and a label",
                     .where = place(line),
                     .remedy = "separate the fields by commas"});
  label_column_ = find_label_column(line);
  table_.sample_shape = {static_cast<std::int64_t>(column_count_ - 1)};
}

// Returns whether the header line consists of numbers other than the column numbers, which some
// programs write as column names.
bool CsvReader::looks_like_sample() const {
  bool counts_columns = true;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::optional<double> value = parse_number(fields_[i]);
    if (!value) return false;
    const auto column = static_cast<double>(i);
    counts_columns = counts_columns && (*value == column || *value == column + 1.0);
  }
  return !counts_columns;
}

void CsvReader::take_header(std::size_t line) {
  header_is_due_ = false;
  if (looks_like_sample())
    throw DataError({.what = "the first line should name the columns, and is all numbers",
                     .where = place(line),
                     .remedy = "set " + section_ + ".has_header to false, or add the names"});
  if (fields_ != names_)
    throw DataError({.what = "the column names differ from those of " + source_.files[0].string(),
                     .where = place(line),
                     .remedy = "give all files the same header line"});
}

std::size_t CsvReader::find_label_column(std::size_t line) const {
  const std::string& wanted = source_.label_column;
  if (wanted == "last") return column_count_ - 1;
  const auto name = std::find(names_.begin(), names_.end(), wanted);
  if (name != names_.end()) return static_cast<std::size_t>(name - names_.begin());
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  const bool is_index = error == std::errc{} && end == wanted.data() + wanted.size();
  if (is_index && index < column_count_) return index;
  std::string remedy = fmt::format("set {}.label_column to a number from 0 to {}, or to \"last\"",
                                   section_, column_count_ - 1);
  if (!source_.has_header) remedy += "; names need \"has_header\": true";
  const std::string nearest = nearest_word(wanted, names_);
  if (!nearest.empty()) remedy += fmt::format("; did you mean \"{}\"?", nearest);
  throw DataError({.what = fmt::format("there is no label column \"{}\"", wanted),
                   .where = place(line),
                   .remedy = remedy});
}

void CsvReader::take_sample(std::size_t line) {
  ++lines_;
  for (std::size_t column = 0; column < fields_.size(); ++column) {
    if (feature_count_ && column == label_column_) continue;
    const std::optional<double> value = parse_number(fields_[column]);
    if (!value) throw_not_a_number(line, column);
    if (column != label_column_) {
      table_.floats.push_back(static_cast<float>(*value));
      continue;
    }
    if (classes_ == 0) {
      table_.target_shape = {1};
      table_.values.push_back(static_cast<float>(*value));
      continue;
    }
    if (*value != std::floor(*value) || std::abs(*value) > 1e15)
      throw DataError(
          {.what = fmt::format("label \"{}\" is not a whole number", fields_[column]),
           .where = place(line),
           .remedy = "number the classes from 0, or correct " + section_ + ".label_column"});
    append_label(static_cast<std::int64_t>(*value), classes_, table_, [&] {
      return fmt::format("{}: sample {} (from 0)", place(line), table_.labels.size());
    });
  }
}

// Returns whether the label is a word in a line whose other fields are numbers.
bool CsvReader::names_a_class(std::size_t column) const {
  if (column != label_column_ || classes_ == 0 || fields_[column].empty()) return false;
  for (std::size_t i = 0; i < fields_.size(); ++i)
    if (i != column && !parse_number(fields_[i])) return false;
  return true;
}

void CsvReader::throw_not_a_number(std::size_t line, std::size_t column) const {
  if (names_a_class(column))
    throw DataError({.what = fmt::format("the label \"{}\" is a name, and labels are numbers from "
                                         "0 to {}",
                                         fields_[column], classes_ - 1),
                     .where = place(line),
                     .remedy = "write each class's number in place of its name, or correct " +
                               section_ + ".label_column"});
  const std::string name = column < names_.size() ? " (" + names_[column] + ")" : "";
  throw DataError({.what = fmt::format("field {}{} is not a finite number: \"{}\"", column + 1,
                                       name, fields_[column]),
                   .where = place(line),
                   .remedy = line == 1 ? "where the first line names the columns, set " + section_ +
                                             ".has_header to true"
                                       : "correct the file: missing values are not supported"});
}

SampleTable CsvReader::finish() {
  return std::move(table_);
}

}  // namespace

SampleTable read_csv_features(const DataSourceConfig& source, std::uint64_t features) {
  const std::string section = "input";
  CsvReader reader(source, 0, section);
  reader.expect_features(features);
  for (const std::filesystem::path& path : source.files) reader.append_file(path);
  return reader.finish();
}

SampleTable read_csv(const DataSourceConfig& source, std::uint32_t classes,
                     const std::string& section) {
  if (source.files.empty())
    throw DataError({.what = "no files are named",
                     .where = section + ".files",
                     .remedy = "list one or more CSV files"});
  CsvReader reader(source, classes, section);
  for (const std::filesystem::path& path : source.files) reader.append_file(path);
  return reader.finish();
}

}  // namespace scavenger
