#include "perfmodel/survival/expected_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

constexpr std::size_t kMostSteps = 400;
constexpr std::size_t kFewestSteps = 20;
// Of a chance: below, it contributes less than a second to any time.
constexpr double kNoChance = 1e-12;

}  // namespace

// constant + factor * (the time of the greatest work whose time is not known yet).
struct ExpectedTime::Linear {
  double constant = 0.0;
  double factor = 0.0;
};

// The times of small works first, since a loss leaves less work than there was, or as much as there
// was: then the time that is asked for stands on both sides.
ExpectedTime::ExpectedTime(const Survival& survival, const Work& work)
    : survival_(survival), work_(work) {
  SCAVENGER_CHECK(work.seconds > 0.0 && work.start_seconds >= 0.0);
  const double interval = checkpoint_interval_seconds(survival, 0.0, work.checkpoint);
  const auto steps = static_cast<std::size_t>(std::clamp(4.0 * work.seconds / interval,
                                                         static_cast<double>(kFewestSteps),
                                                         static_cast<double>(kMostSteps)));
  const std::size_t count = std::isinf(interval) ? 1 : steps;
  step_ = work.seconds / static_cast<double>(count);
  new_machine_.push_back(0.0);
  for (std::size_t i = 1; i <= count; ++i) {
    const double known_until = step_ * static_cast<double>(i - 1);
    const Linear time = follow(step_ * static_cast<double>(i), 0.0, known_until);
    new_machine_.push_back(time.factor < 1.0 - kNoChance ? time.constant / (1.0 - time.factor)
                                                         : kNeverSeconds);
  }
}

// Between the steps, straight lines.
double ExpectedTime::remaining(double work) const {
  const double place = std::min(work / step_, static_cast<double>(new_machine_.size() - 1));
  const auto below = std::min(static_cast<std::size_t>(place), new_machine_.size() - 2);
  const double share = place - static_cast<double>(below);
  if (share == 0.0) return new_machine_[below];
  return new_machine_[below] + share * (new_machine_[below + 1] - new_machine_[below]);
}

// The work on this machine, segment by segment, until it is done or the machine is lost or left.
ExpectedTime::Linear ExpectedTime::follow(double work, double age, double known_until) const {
  Linear time;
  double alive = 1.0;
  const auto begin_again = [&](double chance, double left) {
    time.constant += chance * work_.start_seconds;
    if (left <= known_until) {
      time.constant += chance * remaining(left);
      return;
    }
    const double share = (left - known_until) / step_;
    time.constant += chance * (1.0 - share) * remaining(known_until);
    time.factor += chance * share;
  };
  while (work > 0.0 && alive > kNoChance) {
    const double segment = next_segment_seconds(survival_, age, work, work_.checkpoint);
    if (segment <= 0.0) {
      begin_again(alive, work);
      return time;
    }
    const double taken = segment < work ? segment + work_.checkpoint.seconds : segment;
    const double lives = chance_to_live(survival_, age, taken);
    time.constant += alive * expected_life_seconds(survival_, age, taken);
    begin_again(alive * (1.0 - lives), work);
    alive *= lives;
    age += taken;
    work = segment < work ? work - segment : 0.0;
  }
  return time;
}

double ExpectedTime::on_machine_seconds(double age) const {
  if (survival_.survival(age) <= 0.0) return on_new_machine_seconds();
  if (std::isinf(new_machine_.back())) return kNeverSeconds;
  return follow(work_.seconds, age, work_.seconds).constant;
}

double ExpectedTime::on_new_machine_seconds() const {
  return work_.start_seconds + new_machine_.back();
}

bool ExpectedTime::prefers(double age) const {
  if (survival_.survival(age) <= 0.0) return false;
  if (next_segment_seconds(survival_, age, work_.seconds, work_.checkpoint) <= 0.0) return false;
  return on_machine_seconds(age) <= on_new_machine_seconds();
}

double ExpectedTime::retire_age_seconds(double most_seconds) const {
  const double last = std::min(most_seconds, survival_.wall_seconds());
  const double step = std::clamp(last / 1440.0, 0.05, 60.0);
  // From the end: a bathtub also prefers a new machine to one of a few minutes for a moment.
  double retire = kNeverSeconds;
  for (double age = last; age >= 0.0 && !prefers(age); age -= step) retire = age;
  return retire;
}

}  // namespace scavenger::perfmodel
