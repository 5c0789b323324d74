#include "perfmodel/survival/survival.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

class WalledSurvival final : public Survival {
 public:
  WalledSurvival(std::shared_ptr<const Survival> within, double wall_seconds)
      : within_(std::move(within)), wall_seconds_(wall_seconds) {}

  double survival(double age) const override {
    return age < wall_seconds_ ? within_->survival(age) : 0.0;
  }
  double hazard(double age) const override {
    return age < wall_seconds_ ? within_->hazard(age) : kNeverSeconds;
  }
  double lived_seconds(double from, double to) const override {
    const double end = std::min(to, wall_seconds_);
    return from < end ? within_->lived_seconds(from, end) : 0.0;
  }
  double wall_seconds() const override { return wall_seconds_; }
  double mean_hazard() const override {
    return (1.0 - within_->survival(wall_seconds_)) / within_->lived_seconds(0.0, wall_seconds_);
  }

 private:
  std::shared_ptr<const Survival> within_;
  double wall_seconds_;
};

}  // namespace

double chance_to_live(const Survival& survival, double age, double seconds) {
  const double reached = survival.survival(age);
  return reached > 0.0 ? survival.survival(age + seconds) / reached : 0.0;
}

double expected_life_seconds(const Survival& survival, double age, double seconds) {
  const double reached = survival.survival(age);
  return reached > 0.0 ? survival.lived_seconds(age, age + seconds) / reached : 0.0;
}

// By parts: int_0^T u f(s + u) du = int_0^T S(s + u) du - T S(s + T).
double expected_loss_seconds(const Survival& survival, double age, double seconds) {
  return expected_life_seconds(survival, age, seconds) -
         seconds * chance_to_live(survival, age, seconds);
}

double drawn_life_seconds(const Survival& survival, double age, double uniform) {
  SCAVENGER_CHECK(uniform >= 0.0 && uniform < 1.0);
  const double level = survival.survival(age) * (1.0 - uniform);
  double alive = age;
  double gone = age + 3600.0;
  while (survival.survival(gone) > level) {
    alive = gone;
    gone *= 2.0;
  }
  constexpr double kPrecisionSeconds = 1e-3;
  while (gone - alive > std::max(kPrecisionSeconds, 1e-12 * gone)) {
    const double middle = 0.5 * (alive + gone);
    (survival.survival(middle) > level ? alive : gone) = middle;
  }
  return gone;
}

std::shared_ptr<const Survival> with_wall(std::shared_ptr<const Survival> survival,
                                          double wall_seconds) {
  SCAVENGER_CHECK(wall_seconds > 0.0);
  return std::make_shared<WalledSurvival>(std::move(survival), wall_seconds);
}

}  // namespace scavenger::perfmodel
