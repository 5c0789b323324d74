#include "test/unit/perfmodel/survival/bag_simulator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger::perfmodel {
namespace {

// The machines of one place, which begin and end together.
struct Gang {
  double requested = 0.0;
  double ready = 0.0;
  double lost = 0.0;  // the moment of the first loss
};

class BagRun final {
 public:
  BagRun(const Bag& bag, const BagPolicy& policy, const Survival& truth, const Survival& model,
         std::uint64_t seed)
      : bag_(bag),
        policy_(policy),
        truth_(truth),
        model_(model),
        seed_(seed),
        young_seconds_(std::sqrt(2.0 * bag.checkpoint_seconds * model.mean_life_seconds() /
                                 static_cast<double>(bag.machines_per_job))),
        expected_(model, {bag.job_seconds, checkpoint(), bag.start_seconds}) {}

  BagOutcome run() {
    using Free = std::pair<double, std::size_t>;  // moment, place
    std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
    std::vector<std::optional<Gang>> gangs(bag_.places);
    for (std::size_t place = 0; place < bag_.places; ++place) free.emplace(0.0, place);
    std::vector<double> ended(bag_.places, 0.0);
    for (std::size_t job = 0; job < bag_.jobs; ++job) {
      const auto [moment, place] = free.top();
      free.pop();
      ended[place] = run_job(moment, job, gangs[place]);
      free.emplace(ended[place], place);
    }
    for (std::size_t place = 0; place < bag_.places; ++place) {
      if (gangs[place]) give_back(*gangs[place], ended[place]);
      outcome_.makespan_seconds = std::max(outcome_.makespan_seconds, ended[place]);
    }
    return outcome_;
  }

 private:
  CheckpointCost checkpoint() const {
    const bool none = policy_.checkpoints == Checkpoints::kNone;
    return {.seconds = none ? kNeverSeconds : bag_.checkpoint_seconds,
            .machines = static_cast<double>(bag_.machines_per_job)};
  }

  Gang rent(double moment) {
    Gang gang{.requested = moment, .ready = moment + bag_.start_seconds, .lost = kNeverSeconds};
    for (std::size_t i = 0; i < bag_.machines_per_job; ++i) {
      RandomStream draw(seed_, "lifetime", {outcome_.machines++});
      gang.lost = std::min(gang.lost, gang.ready + drawn_life_seconds(truth_, 0.0, draw.uniform()));
    }
    return gang;
  }

  void give_back(const Gang& gang, double moment) {
    outcome_.paid_seconds += (moment - gang.requested) * static_cast<double>(bag_.machines_per_job);
  }

  // To a minute of age, since all jobs are alike.
  bool keeps(double age) {
    switch (policy_.placement) {
      case Placement::kMachinePerJob:
        return false;
      case Placement::kMemoryless:
        return true;
      case Placement::kSurvival:
        break;
    }
    const auto minute = static_cast<long>(age / 60.0);
    const auto known = kept_.find(minute);
    if (known != kept_.end()) return known->second;
    return kept_[minute] = expected_.prefers(60.0 * static_cast<double>(minute));
  }

  double segment(double age, double left) const {
    switch (policy_.checkpoints) {
      case Checkpoints::kNone:
        return left;
      case Checkpoints::kYoungDaly:
        return std::min(left, young_seconds_);
      case Checkpoints::kSurvival:
        break;
    }
    return next_segment_seconds(model_, age, left, checkpoint());
  }

  // Returns the moment at which the job is done.
  double run_job(double moment, std::size_t job, std::optional<Gang>& gang) {
    RandomStream draw(seed_, "job", {job});
    const double work = bag_.job_seconds * std::max(0.1, 1.0 + bag_.job_spread * draw.normal());
    // A machine that was lost while nothing ran on it is replaced as one lost in a job is.
    if (gang && (gang->lost <= moment || !keeps(moment - gang->ready))) leave(gang, moment);
    bool any_loss = false;
    for (double left = work; left > 0.0;) {
      if (!gang) moment = start(gang, moment);
      const double done = segment(moment - gang->ready, left);
      if (done <= 0.0) {
        leave(gang, moment);
        continue;
      }
      const double end = moment + done + (done < left ? bag_.checkpoint_seconds : 0.0);
      if (gang->lost < end) {
        ++outcome_.failures;
        any_loss = true;
        moment = gang->lost;
        leave(gang, moment);
        continue;
      }
      moment = end;
      left = done < left ? left - done : 0.0;
    }
    if (any_loss) ++outcome_.jobs_with_loss;
    outcome_.useful_seconds += work * static_cast<double>(bag_.machines_per_job);
    return moment;
  }

  double start(std::optional<Gang>& gang, double moment) {
    gang = rent(moment);
    return gang->ready;
  }

  void leave(std::optional<Gang>& gang, double moment) {
    give_back(*gang, std::min(moment, std::max(gang->lost, gang->ready)));
    gang.reset();
  }

  const Bag& bag_;
  const BagPolicy& policy_;
  const Survival& truth_;
  const Survival& model_;
  std::uint64_t seed_;
  double young_seconds_;
  ExpectedTime expected_;
  std::map<long, bool> kept_;
  BagOutcome outcome_;
};

}  // namespace

BagOutcome simulate_bag(const Bag& bag, const BagPolicy& policy, const Survival& truth,
                        const Survival& model, std::uint64_t seed) {
  SCAVENGER_CHECK(bag.jobs > 0 && bag.places > 0 && bag.machines_per_job > 0);
  SCAVENGER_CHECK(bag.job_seconds > 0.0 && bag.start_seconds >= 0.0);
  return BagRun(bag, policy, truth, model, seed).run();
}

}  // namespace scavenger::perfmodel
