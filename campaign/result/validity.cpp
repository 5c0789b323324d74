#include "campaign/result/validity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/base/error.h"
#include "runtime/checkpoint/pattern.h"

namespace scavenger::campaign {
namespace {

using Fault = std::optional<std::string>;

Fault missing_file(const std::vector<ResultFile>& files, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    const auto fits = [&](const ResultFile& file) { return fits_pattern(file.name, pattern); };
    if (std::ranges::none_of(files, fits)) return fmt::format("there is no result {}", pattern);
  }
  return std::nullopt;
}

Fault number_that_is_not_finite(const ResultFile& file, const std::vector<std::string>& errors) {
  const auto complaint = [&](const std::string& key, double number) {
    return fmt::format("{} in {} is {}", key, file.name, number);
  };
  if (is_json_file(file.name))
    for (const auto& [key, number] : parse_numbers(file.content, file.name))
      if (!std::isfinite(number)) return complaint(key, number);
  if (!is_table_file(file.name)) return std::nullopt;
  const NumberTable table = parse_number_table(file.content, file.name);
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    if (std::ranges::find(errors, table.names[i]) != errors.end()) continue;
    for (const double number : table.columns[i])
      if (!std::isfinite(number)) return complaint(table.names[i], number);
  }
  return std::nullopt;
}

Fault number_out_of_range(const std::vector<ResultFile>& files, const ValidityRules& valid) {
  std::map<std::string, double> numbers;
  for (const ResultFile& file : files)
    if (is_json_file(file.name)) numbers.merge(parse_numbers(file.content, file.name));
  for (const auto& [key, range] : valid.ranges) {
    const auto found = numbers.find(key);
    if (found == numbers.end()) return fmt::format("the result has no number \"{}\"", key);
    if (!(found->second >= range[0] && found->second <= range[1]))
      return fmt::format("{} is {:g}, outside of {:g} to {:g}", key, found->second, range[0],
                         range[1]);
  }
  return std::nullopt;
}

}  // namespace

Fault fault_of(const std::vector<ResultFile>& files, const SimulationResult& rules,
               const ValidityRules& valid) {
  try {
    if (Fault fault = missing_file(files, rules.files)) return fault;
    const std::vector<std::string> errors =
        rules.profile ? rules.profile->errors : std::vector<std::string>();
    for (const ResultFile& file : files)
      if (Fault fault = valid.finite ? number_that_is_not_finite(file, errors) : std::nullopt)
        return fault;
    if (Fault fault = number_out_of_range(files, valid)) return fault;
    if (rules.profile && read_profile(files, *rules.profile).x.empty())
      return fmt::format("{} has no rows", rules.profile->file);
    return std::nullopt;
  } catch (const DataError& error) {
    return error.what();
  }
}

}  // namespace scavenger::campaign
