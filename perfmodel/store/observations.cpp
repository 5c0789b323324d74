#include "perfmodel/store/observations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace scavenger::perfmodel {
namespace {

// The value of which most rows are, or the wanted one, which some row must have.
template <typename Row, typename Value>
Value pick(const std::vector<Row>& rows, Value Row::*member, const std::optional<Value>& wanted,
           const char* what) {
  std::map<Value, std::size_t> counts;
  for (const Row& row : rows) ++counts[row.*member];
  if (wanted && !rows.empty() && counts.count(*wanted) == 0) {
    std::vector<std::string> known;
    for (const auto& [value, count] : counts) known.push_back(fmt::format("\"{}\"", value));
    throw DataError({.what = fmt::format("there are no observations of {} \"{}\"", what, *wanted),
                     .where = "observations",
                     .remedy = fmt::format("there are some of {}", join_words(known))});
  }
  if (wanted) return *wanted;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? Value{} : most->first;
}

std::optional<std::string> wanted_text(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

TimeObservation combine(const Configuration& configuration, const std::vector<TimeRow>& rows) {
  double weight = 0.0, mean = 0.0, stated = 0.0;
  for (const TimeRow& row : rows) {
    const double share = std::max(row.iterations, 1.0);
    weight += share;
    mean += share * row.seconds;
    stated += share * share * row.standard_error * row.standard_error;
  }
  mean /= weight;
  stated /= weight * weight;
  double between = 0.0;
  for (const TimeRow& row : rows)
    between += std::max(row.iterations, 1.0) / weight * (row.seconds - mean) * (row.seconds - mean);
  if (rows.size() > 1) between /= static_cast<double>(rows.size() - 1);
  const double error = std::sqrt(stated + (rows.size() > 1 ? between : 0.0));
  return {configuration, mean, std::min(error, mean)};  // beyond that nothing is known either way
}

std::vector<TimeObservation> time_observations(const ModelRecord& record,
                                               const std::string& machine) {
  std::map<std::pair<double, double>, std::vector<TimeRow>> by_configuration;
  for (const TimeRow& row : record.times)
    if (row.machine == machine) by_configuration[{row.workers, row.batch_size}].push_back(row);
  std::vector<TimeObservation> times;
  for (const auto& [key, rows] : by_configuration)
    times.push_back(combine({key.first, key.second}, rows));
  return times;
}

void add_noise(const ModelRecord& record, Observations& result) {
  struct Sum {
    double weight = 0.0;
    double value = 0.0;
  };
  std::map<double, Sum> by_batch;
  Sum scale;
  for (const NoiseRow& row : record.noise) {
    if (row.phase != result.phase) continue;
    const double share = std::max(row.iterations, 1.0);
    const double normalised = row.noise_scale > 0.0
                                  ? row.noise_scale / (row.batch_size + row.noise_scale)
                                  : row.normalised_noise;
    if (row.noise_scale > 0.0) {
      scale.weight += share;
      scale.value += share * row.noise_scale;
    }
    if (normalised <= 0.0) continue;
    by_batch[row.batch_size].weight += share;
    by_batch[row.batch_size].value += share * normalised;
  }
  for (const auto& [batch, sum] : by_batch) result.noise.push_back({batch, sum.value / sum.weight});
  if (scale.weight > 0.0) result.noise_scale = scale.value / scale.weight;
}

}  // namespace

Observations observations_of(const ModelRecord& record, const RowFilter& filter) {
  check_record(record);
  Observations result;
  result.machine =
      pick(record.times, &TimeRow::machine, wanted_text(filter.machine), "machine type");
  result.target = pick(record.epochs, &EpochRow::target, wanted_text(filter.target), "target");
  result.phase = pick(record.noise, &NoiseRow::phase, filter.phase, "learning-rate phase");
  result.times = time_observations(record, result.machine);
  for (const EpochRow& row : record.epochs)
    if (row.target == result.target) result.epochs.push_back({row.batch_size, row.epochs});
  add_noise(record, result);
  return result;
}

}  // namespace scavenger::perfmodel
