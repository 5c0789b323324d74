#include "elastic/plan/measured_configurations.h"

#include <map>
#include <utility>

namespace scavenger::elastic {
namespace {

std::optional<MeasuredConfiguration> summary_of(const fact::Membership& membership,
                                                const SeriesStatistics& iteration_seconds) {
  const RobustMean mean = iteration_seconds.robust_mean();
  if (!(mean.mean > 0.0)) return std::nullopt;
  const RunningMoments& moments = iteration_seconds.moments();
  return MeasuredConfiguration{
      {{static_cast<double>(membership.workers), static_cast<double>(membership.batch_size)},
       mean.mean,
       mean.standard_error},
      moments.count(),
      moments.mean() * static_cast<double>(moments.count())};
}

}  // namespace

std::vector<MeasuredConfiguration> measured_since(const RunNumbers& numbers, double since_seconds) {
  struct Sum {
    fact::Membership membership;
    SeriesStatistics iteration_seconds;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> sums;
  for (const PhaseNumbers& phase : numbers.phases) {
    if (phase.begin_time < since_seconds) continue;
    Sum& sum = sums[{phase.membership.workers, phase.membership.batch_size}];
    if (sum.membership.shares != phase.membership.shares) sum = {};  // unequal workers are balanced
    sum.membership = phase.membership;
    sum.iteration_seconds.merge(phase.iteration_seconds);
  }
  std::vector<MeasuredConfiguration> measured;
  for (const auto& [key, sum] : sums)
    if (const auto one = summary_of(sum.membership, sum.iteration_seconds))
      measured.push_back(*one);
  return measured;
}

std::optional<MeasuredConfiguration> measured_now(const RunNumbers& numbers) {
  if (numbers.phases.empty()) return std::nullopt;
  const PhaseNumbers& phase = numbers.phases.back();
  return summary_of(phase.membership, phase.iteration_seconds);
}

std::optional<MeasuredConfiguration> measured_lately(const RunNumbers& numbers) {
  if (numbers.phases.empty()) return std::nullopt;
  const PhaseNumbers& phase = numbers.phases.back();
  return summary_of(phase.membership, phase.latest_iteration_seconds.last());
}

}  // namespace scavenger::elastic
