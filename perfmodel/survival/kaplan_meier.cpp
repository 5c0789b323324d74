#include "perfmodel/survival/kaplan_meier.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kHazardWindowSeconds = 3600.0;

void require_lifetimes(std::span<const Lifetime> lifetimes) {
  bool any_lost = false;
  for (const Lifetime& lifetime : lifetimes) {
    if (!(lifetime.seconds > 0.0) || !std::isfinite(lifetime.seconds))
      throw DataError({.what = "a lifetime is not a positive number of seconds",
                       .where = "lifetimes",
                       .remedy = "remove it"});
    any_lost = any_lost || lifetime.lost;
  }
  if (!any_lost)
    throw DataError({.what = "no machine was lost, so nothing is known of when they are",
                     .where = "lifetimes",
                     .remedy = "use the prior until one is lost"});
}

}  // namespace

KaplanMeier::KaplanMeier(std::span<const Lifetime> lifetimes) {
  require_lifetimes(lifetimes);
  std::vector<Lifetime> sorted(lifetimes.begin(), lifetimes.end());
  // Of equal ages, losses first: a machine that was returned then was still at risk.
  std::ranges::sort(sorted, [](const Lifetime& a, const Lifetime& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.lost > b.lost;
  });
  double value = 1.0, greenwood = 0.0, total = 0.0, all_lost = 0.0, lived = 0.0;
  for (std::size_t i = 0; i < sorted.size();) {
    const double age = sorted[i].seconds;
    const auto alive = static_cast<double>(sorted.size() - i);
    double lost = 0.0;
    for (; i < sorted.size() && sorted[i].seconds == age; ++i) {
      total += age;
      if (sorted[i].lost) lost += 1.0;
    }
    if (lost == 0.0) continue;
    lived += value * (age - (ages_.empty() ? 0.0 : ages_.back()));
    value *= 1.0 - lost / alive;
    if (alive > lost) greenwood += lost / (alive * (alive - lost));
    all_lost += lost;
    ages_.push_back(age);
    values_.push_back(value);
    lived_.push_back(lived);
    greenwood_.push_back(greenwood);
  }
  watched_until_ = sorted.back().seconds;
  tail_rate_ = all_lost / total;
}

std::size_t KaplanMeier::losses_until(double age) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ages_, age) - ages_.begin());
}

double KaplanMeier::survival(double age) const {
  const std::size_t losses = losses_until(age);
  const double value = losses == 0 ? 1.0 : values_[losses - 1];
  return age <= watched_until_ ? value : value * std::exp(-tail_rate_ * (age - watched_until_));
}

double KaplanMeier::hazard(double age) const {
  if (age > watched_until_) return values_.back() > 0.0 ? tail_rate_ : kNeverSeconds;
  const double from = std::max(0.0, age - 0.5 * kHazardWindowSeconds);
  const double to = age + 0.5 * kHazardWindowSeconds;
  const double before = survival(from);
  if (before <= 0.0) return kNeverSeconds;
  // Deaths over seconds at risk, which stays finite if all die within the hour.
  return (before - survival(to)) / lived_seconds(from, to);
}

double KaplanMeier::lived_until(double age) const {
  const std::size_t losses = losses_until(std::min(age, watched_until_));
  const double value = losses == 0 ? 1.0 : values_[losses - 1];
  const double since = losses == 0 ? 0.0 : ages_[losses - 1];
  double lived = losses == 0 ? 0.0 : lived_[losses - 1];
  lived += value * (std::min(age, watched_until_) - since);
  if (age > watched_until_)
    lived += value * -std::expm1(-tail_rate_ * (age - watched_until_)) / tail_rate_;
  return lived;
}

double KaplanMeier::lived_seconds(double from, double to) const {
  return lived_until(to) - lived_until(from);
}

double KaplanMeier::standard_error(double age) const {
  const std::size_t losses = losses_until(age);
  return losses == 0 ? 0.0 : survival(age) * std::sqrt(greenwood_[losses - 1]);
}

}  // namespace scavenger::perfmodel
