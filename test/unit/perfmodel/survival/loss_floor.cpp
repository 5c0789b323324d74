#include "test/unit/perfmodel/survival/loss_floor.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kStepSeconds = 120.0;
// Where there is no wall, few machines are older.
constexpr double kOldestSeconds = 48.0 * kHourSeconds;
constexpr double kLeastWorkSeconds = 0.5 * kHourSeconds;

std::size_t steps_of(const Survival& truth) {
  return static_cast<std::size_t>(std::min(truth.wall_seconds(), kOldestSeconds) / kStepSeconds);
}

double age_of(std::size_t step) {
  return kStepSeconds * static_cast<double>(step);
}

}  // namespace

LossFloor loss_floor(const Survival& truth, double start_seconds, double most_overhead,
                     bool may_wait) {
  // At a wall itself everything is lost; machines are returned just before it.
  const std::size_t steps = steps_of(truth) - 1;
  std::vector<double> alive, lived;
  for (std::size_t i = 0; i <= steps; ++i) {
    alive.push_back(truth.survival(age_of(i)));
    lived.push_back(truth.lived_seconds(0.0, age_of(i)));
  }
  LossFloor floor{.losses_per_second = kNeverSeconds};
  for (std::size_t idle = 0; idle <= (may_wait ? steps : 0); ++idle)
    for (std::size_t retire = idle + 1; retire <= steps; ++retire) {
      const double work = lived[retire] - lived[idle];
      if (work < kLeastWorkSeconds || (start_seconds + lived[idle]) / work > most_overhead)
        continue;
      const double losses = (alive[idle] - alive[retire]) / work;
      if (losses < floor.losses_per_second) floor = {losses, age_of(idle), age_of(retire)};
    }
  return floor;
}

double fewest_losses(const Survival& truth, double work_seconds) {
  SCAVENGER_CHECK(work_seconds >= 0.0);
  const std::size_t ages = steps_of(truth);
  std::vector<double> lives;  // through the step that begins at this age
  for (std::size_t age = 0; age < ages; ++age)
    lives.push_back(chance_to_live(truth, age_of(age), kStepSeconds));
  // [age]: the losses from here on, with one step of work more in each round. A machine that would
  // be lost within the step, such as by a wall, is returned before, if that is better.
  std::vector<double> losses(ages + 1, 0.0);
  for (double done = 0.0; done < work_seconds; done += kStepSeconds) {
    std::vector<double> more(ages + 1);
    const double replaced = losses[0];
    more[0] = (1.0 - lives[0]) * (1.0 + replaced) + lives[0] * losses[1];
    for (std::size_t age = 1; age < ages; ++age)
      more[age] =
          std::min(more[0], (1.0 - lives[age]) * (1.0 + replaced) + lives[age] * losses[age + 1]);
    more[ages] = more[0];
    losses = std::move(more);
  }
  return losses[0];
}

}  // namespace scavenger::perfmodel
