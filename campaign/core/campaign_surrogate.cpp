// The part of the campaign that looks at its surrogate: when it is trained, what it advises, and
// whether it is good enough.
#include <algorithm>

#include "campaign/core/campaign.h"

namespace scavenger::campaign {
namespace {

constexpr std::uint64_t kFewestToTrain = 4;
constexpr std::uint64_t kFewestToJudge = 2;

}  // namespace

// A simulation that was lengthened gives another result each time.
std::uint64_t Campaign::results_to_train_on() const {
  std::uint64_t results = 0;
  for (const auto& [point, simulation] : simulations_)
    if (!simulation.is_holdout) results += simulation.results;
  return results;
}

bool Campaign::is_training_due() const {
  const auto& surrogate = plan_.config.surrogate;
  if (!surrogate || end_) return false;
  const std::uint64_t results = results_to_train_on();
  if (results < kFewestToTrain || results <= results_tried_) return false;
  if (open_simulations() == 0 && !may_choose_more()) return true;
  if (results_tried_ == 0) {
    // A target must not be met by chance on the first few profiles of the holdout.
    const bool is_holdout_open = std::ranges::any_of(simulations_, [](const auto& entry) {
      return entry.second.is_holdout && !entry.second.is_over();
    });
    return results >= surrogate->first_results && !is_holdout_open;
  }
  return results >= results_tried_ + surrogate->retrain_results;
}

void Campaign::on(const event::Advised& advised) {
  results_tried_ = advised.results;
  advised_.assign(advised.points.begin(), advised.points.end());
  lengthen_.assign(advised.lengthen.begin(), advised.lengthen.end());
  trainings_.push_back(advised);
  training_seconds_ += advised.seconds;
}

// What an earlier surrogate advised may be what the failed one would have advised against.
void Campaign::on(const event::TrainingFailed& failed) {
  results_tried_ = failed.results;
  advised_.clear();
  lengthen_.clear();
  training_seconds_ += failed.seconds;
  ++failed_trainings_;
}

std::optional<PointIndex> Campaign::advised_point() {
  while (!advised_.empty()) {
    const PointIndex point = advised_.front();
    advised_.pop_front();
    if (point < space_.size() && !order_.is_taken(point)) return point;
  }
  return std::nullopt;
}

std::optional<PointIndex> Campaign::point_to_lengthen() {
  while (!lengthen_.empty()) {
    const PointIndex point = lengthen_.front();
    lengthen_.pop_front();
    const auto found = simulations_.find(point);
    if (found == simulations_.end()) continue;
    SimulationRecord& simulation = found->second;
    const bool is_within_limit =
        max_simulations_ == 0 || begun_simulations() + simulation.multiple <= max_simulations_;
    if (simulation.state != SimulationState::kDone || simulation.is_holdout ||
        !simulation.may_be_lengthened || !is_within_limit)
      continue;
    simulation.multiple *= 2;
    return point;
  }
  return std::nullopt;
}

bool Campaign::is_surrogate_good_enough() const {
  const auto& surrogate = plan_.config.surrogate;
  if (!surrogate || trainings_.empty()) return false;
  const double rmse = surrogate->target_rmse;
  const double within = surrogate->target_within_errors;
  const event::Advised& last = trainings_.back();
  if ((rmse == 0.0 && within == 0.0) || last.profiles < kFewestToJudge) return false;
  return (rmse == 0.0 || last.most_rmse <= rmse) && last.least_within >= within;
}

}  // namespace scavenger::campaign
