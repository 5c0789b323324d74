#include "perfmodel/survival/fitted_survival.h"

#include <algorithm>

#include "perfmodel/survival/bathtub.h"
#include "perfmodel/survival/early_hazard.h"
#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kLeastMeanForFitSeconds = 3600.0;
// A bathtub has one parameter more, and puts an end to all lives.
constexpr double kMuchBetter = 0.5;
constexpr int kComparedAges = 50;

double squared_distance(const Survival& model, const KaplanMeier& seen, double until_seconds) {
  double sum = 0.0;
  for (int i = 1; i <= kComparedAges; ++i) {
    const double age = until_seconds * i / kComparedAges;
    const double difference = model.survival(age) - seen.survival(age);
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

bool allows_fit(std::span<const Lifetime> lives) {
  double seconds = 0.0, losses = 0.0;
  for (const Lifetime& life : lives) {
    seconds += life.seconds;
    losses += life.lost ? 1.0 : 0.0;
  }
  return losses >= kLossesForFit && seconds / losses >= kLeastMeanForFitSeconds;
}

std::shared_ptr<const Survival> fitted_survival(std::span<const Lifetime> lives) {
  SCAVENGER_CHECK(allows_fit(lives));
  auto early = std::make_shared<EarlyHazard>(fit_early_hazard(lives, kNeverSeconds));
  const KaplanMeier seen(lives);
  const double last_loss = seen.ages().back();
  auto bathtub = std::make_shared<Bathtub>(fit_bathtub(seen, last_loss));
  const bool is_bathtub = squared_distance(*bathtub, seen, last_loss) <
                          kMuchBetter * squared_distance(*early, seen, last_loss);
  if (is_bathtub) return bathtub;
  return early;
}

}  // namespace scavenger::perfmodel
