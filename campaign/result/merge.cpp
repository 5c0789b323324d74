#include "campaign/result/merge.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::campaign {
namespace {

std::vector<double> weights_of(const std::vector<SegmentResult>& segments) {
  double sum = 0.0;
  for (const SegmentResult& segment : segments) sum += static_cast<double>(segment.steps);
  std::vector<double> weights;
  for (const SegmentResult& segment : segments)
    weights.push_back(sum > 0.0 ? static_cast<double>(segment.steps) / sum : 1.0);
  return weights;
}

const ResultFile& file_of(const SegmentResult& segment, const std::string& name) {
  if (const ResultFile* const file = find_file(segment.files, name)) return *file;
  throw DataError({.what = "a segment has no such result", .where = name, .remedy = {}});
}

// The means stand at the places of the last segment's numbers.
void put_means(nlohmann::json& object, const std::string& prefix,
               const std::map<std::string, double>& means) {
  for (auto& [key, value] : object.items()) {
    if (value.is_object()) put_means(value, prefix + key + ".", means);
    if (value.is_number()) value = means.at(prefix + key);
  }
}

std::string merge_numbers(const std::vector<SegmentResult>& segments, const std::string& name) {
  const std::vector<double> weights = weights_of(segments);
  const std::string& last = file_of(segments.back(), name).content;
  std::map<std::string, double> means = parse_numbers(last, name);
  for (auto& [key, mean] : means) mean = 0.0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto numbers = parse_numbers(file_of(segments[i], name).content, name);
    for (auto& [key, mean] : means) {
      const auto found = numbers.find(key);
      if (found == numbers.end())
        throw DataError({.what = "a segment has no \"" + key + "\"", .where = name, .remedy = {}});
      mean += weights[i] * found->second;
    }
  }
  nlohmann::json merged = parse_json(last);
  put_means(merged, "", means);
  return json_text(merged, {.indent = 1}) + "\n";
}

std::string merge_tables(const std::vector<SegmentResult>& segments, const std::string& name,
                         const std::vector<std::string>& errors) {
  const std::vector<double> weights = weights_of(segments);
  NumberTable merged = parse_number_table(file_of(segments.back(), name).content, name);
  for (auto& column : merged.columns) std::ranges::fill(column, 0.0);
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const NumberTable table = parse_number_table(file_of(segments[s], name).content, name);
    if (table.names != merged.names || table.columns[0].size() != merged.columns[0].size())
      throw DataError({.what = "its segments have different tables", .where = name, .remedy = {}});
    for (std::size_t c = 0; c < merged.columns.size(); ++c) {
      const bool is_error = std::ranges::find(errors, merged.names[c]) != errors.end();
      for (std::size_t row = 0; row < merged.columns[c].size(); ++row) {
        const double part = weights[s] * table.columns[c][row];
        merged.columns[c][row] += is_error ? part * part : part;
      }
    }
  }
  for (std::size_t c = 0; c < merged.columns.size(); ++c)
    if (std::ranges::find(errors, merged.names[c]) != errors.end())
      for (double& cell : merged.columns[c]) cell = std::sqrt(cell);
  return text_of(merged);
}

}  // namespace

std::vector<ResultFile> merge_results(const std::vector<SegmentResult>& segments,
                                      const SimulationResult& rules) {
  SCAVENGER_CHECK(!segments.empty());
  std::vector<ResultFile> files = segments.back().files;
  if (rules.merge == MergeRule::kLast) return files;
  for (ResultFile& file : files) {
    if (is_json_file(file.name)) file.content = merge_numbers(segments, file.name);
    if (is_table_file(file.name))
      file.content = merge_tables(segments, file.name,
                                  rules.profile && rules.profile->file == file.name
                                      ? rules.profile->errors
                                      : std::vector<std::string>());
  }
  return files;
}

}  // namespace scavenger::campaign
