// The part of the campaign that looks at its surrogate: when it is trained, what it advises, and
// whether it is good enough.
#include <algorithm>

#include "campaign/core/campaign.h"

namespace scavenger::campaign {
namespace {

constexpr std::uint64_t kFewestToTrain = 4;
constexpr std::uint64_t kFewestToJudge = 2;

}  // namespace

std::uint64_t Campaign::results_to_train_on() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(simulations_, [](const auto& entry) {
    return entry.second.state == SimulationState::kDone && !entry.second.is_holdout;
  }));
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
  trainings_.push_back(advised);
  training_seconds_ += advised.seconds;
}

// What an earlier surrogate advised may be what the failed one would have advised against.
void Campaign::on(const event::TrainingFailed& failed) {
  results_tried_ = failed.results;
  advised_.clear();
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
