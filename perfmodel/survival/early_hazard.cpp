#include "perfmodel/survival/early_hazard.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "perfmodel/fit/bounded_fit.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

EarlyHazardParameters early_hazard_from(std::span<const double> x) {
  return {.early_share = x[0],
          .early_seconds = std::exp(x[1]) * kHourSeconds,
          .losses_per_hour = std::exp(x[2])};
}

}  // namespace

EarlyHazard::EarlyHazard(const EarlyHazardParameters& parameters)
    : parameters_(parameters), rate_(parameters.losses_per_hour / kHourSeconds) {
  SCAVENGER_CHECK(parameters.early_share >= 0.0 && parameters.early_share < 1.0);
  SCAVENGER_CHECK(parameters.early_seconds > 0.0 && parameters.losses_per_hour > 0.0);
}

double EarlyHazard::survival(double age) const {
  const EarlyHazardParameters& p = parameters_;
  return (1.0 + p.early_share * std::expm1(-age / p.early_seconds)) * std::exp(-rate_ * age);
}

double EarlyHazard::hazard(double age) const {
  const EarlyHazardParameters& p = parameters_;
  const double early = p.early_share * std::exp(-age / p.early_seconds);
  return rate_ + early / p.early_seconds / (1.0 - p.early_share + early);
}

double EarlyHazard::lived_seconds(double from, double to) const {
  const EarlyHazardParameters& p = parameters_;
  const auto part = [&](double rate) {
    return (std::exp(-rate * from) - std::exp(-rate * to)) / rate;
  };
  return (1.0 - p.early_share) * part(rate_) + p.early_share * part(rate_ + 1.0 / p.early_seconds);
}

EarlyHazard fit_early_hazard(std::span<const Lifetime> lifetimes, double until_seconds) {
  std::vector<Lifetime> watched(lifetimes.begin(), lifetimes.end());
  double total = 0.0, lost = 0.0;
  for (Lifetime& lifetime : watched) {
    if (lifetime.seconds > until_seconds) lifetime = {until_seconds, false};
    total += lifetime.seconds;
    if (lifetime.lost) lost += 1.0;
  }
  const KaplanMeier checked(watched);  // refuses what cannot be fitted
  const auto minus_log_likelihood = [&](std::span<const double> x) {
    const EarlyHazard model(early_hazard_from(x));
    double sum = 0.0;
    for (const Lifetime& lifetime : watched) {
      sum -= std::log(model.survival(lifetime.seconds));
      if (lifetime.lost) sum -= std::log(model.hazard(lifetime.seconds) * kHourSeconds);
    }
    return sum;
  };
  const double rate = lost / total * kHourSeconds;
  // An early time of minutes is what machines show that never worked; above half of what was
  // watched, early and constant losses cannot be told apart.
  const double longest = std::ranges::max(watched, {}, &Lifetime::seconds).seconds / kHourSeconds;
  const Box box{{0.0, std::log(0.02), std::log(rate / 100.0)},
                {0.95, std::log(std::max(0.04, 0.25 * longest)), std::log(2.0 * rate)}};
  const std::vector<double> start{0.2, 0.5 * (box.low[1] + box.high[1]), std::log(0.5 * rate)};
  return EarlyHazard(early_hazard_from(minimise_in_box(minus_log_likelihood, start, box)));
}

EarlyHazard constant_hazard(std::span<const Lifetime> lifetimes, double prior_mean_life_seconds) {
  double total = prior_mean_life_seconds, lost = 1.0;
  for (const Lifetime& lifetime : lifetimes) {
    total += lifetime.seconds;
    if (lifetime.lost) lost += 1.0;
  }
  return EarlyHazard({.losses_per_hour = lost / total * kHourSeconds});
}

}  // namespace scavenger::perfmodel
