#include "perfmodel/search/adaptive_search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {

std::vector<std::size_t> corner_candidates(std::span<const Configuration> candidates) {
  SCAVENGER_CHECK(!candidates.empty());
  const auto by_workers = [](const Configuration& a, const Configuration& b) {
    return a.workers < b.workers;
  };
  const auto workers = std::minmax_element(candidates.begin(), candidates.end(), by_workers);
  std::vector<std::size_t> corners;
  for (const double k : std::set{workers.first->workers, workers.second->workers}) {
    std::size_t smallest = candidates.size(), largest = candidates.size();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].workers != k) continue;
      const double batch = candidates[i].global_batch;
      if (smallest == candidates.size() || batch < candidates[smallest].global_batch) smallest = i;
      if (largest == candidates.size() || batch > candidates[largest].global_batch) largest = i;
    }
    corners.push_back(smallest);
    if (largest != smallest) corners.push_back(largest);
  }
  return corners;
}

std::optional<std::size_t> next_candidate(const TimeModel& model,
                                          std::span<const Configuration> candidates,
                                          const std::vector<bool>& measured,
                                          std::span<const double> importance) {
  SCAVENGER_CHECK(measured.size() == candidates.size());
  SCAVENGER_CHECK(importance.empty() || importance.size() == candidates.size());
  const Matrix covariance = model.log_covariance(candidates);
  std::optional<std::size_t> best;
  double largest_gain = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (measured[i]) continue;
    double gain = 0.0;
    for (std::size_t j = 0; j < candidates.size(); ++j)
      gain += (importance.empty() ? 1.0 : importance[j]) * covariance(j, i) * covariance(j, i);
    gain /= covariance(i, i) + model.measurement_variance();
    if (!best || gain > largest_gain) {
      best = i;
      largest_gain = gain;
    }
  }
  return best;
}

std::vector<double> decision_importance(std::span<const Estimate> objectives) {
  SCAVENGER_CHECK(!objectives.empty());
  const auto best =
      std::min_element(objectives.begin(), objectives.end(),
                       [](const Estimate& a, const Estimate& b) { return a.value < b.value; });
  std::vector<double> importance;
  for (const Estimate& objective : objectives) {
    const double error = std::hypot(objective.standard_error, best->standard_error);
    const double worse = objective.value - best->value;
    const double z = worse == 0.0 ? 0.0 : worse / std::max(error, 1e-12 * best->value);
    importance.push_back(std::exp(-0.5 * z * z));
  }
  return importance;
}

std::vector<double> policy_importance(Policy policy, std::span<const JobPrediction> predictions) {
  if (policy == Policy::kKnee) return std::vector<double>(predictions.size(), 1.0);
  std::vector<Estimate> objectives;
  for (const JobPrediction& prediction : predictions)
    objectives.push_back(policy == Policy::kMinimumCost ? prediction.cost : prediction.seconds);
  return decision_importance(objectives);
}

}  // namespace scavenger::perfmodel
