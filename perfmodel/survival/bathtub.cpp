#include "perfmodel/survival/bathtub.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "perfmodel/fit/bounded_fit.h"
#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

BathtubParameters bathtub_from(std::span<const double> x) {
  return {.share = x[0],
          .early_seconds = std::exp(x[1]) * kHourSeconds,
          .late_seconds = std::exp(x[2]) * kHourSeconds,
          .end_seconds = x[3] * kHourSeconds};
}

double bathtub_share(const BathtubParameters& p, double age) {
  return p.share *
         (-std::expm1(-age / p.early_seconds) + std::exp((age - p.end_seconds) / p.late_seconds));
}

}  // namespace

Bathtub::Bathtub(const BathtubParameters& parameters) : parameters_(parameters) {
  SCAVENGER_CHECK(parameters.share > 0.0 && parameters.share <= 1.0);
  SCAVENGER_CHECK(parameters.early_seconds > 0.0 && parameters.late_seconds > 0.0);
  SCAVENGER_CHECK(parameters.end_seconds > 0.0);
  // F rises, and at this age the late term alone is 1.
  double alive = 0.0;
  double gone = parameters.end_seconds - parameters.late_seconds * std::log(parameters.share);
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (alive + gone);
    (lost_share(middle) < 1.0 ? alive : gone) = middle;
  }
  last_age_seconds_ = gone;
}

double Bathtub::lost_share(double age) const {
  return bathtub_share(parameters_, age);
}

double Bathtub::survival(double age) const {
  return age <= 0.0 ? 1.0 : age < last_age_seconds_ ? 1.0 - lost_share(age) : 0.0;
}

double Bathtub::hazard(double age) const {
  const double alive = survival(age);
  if (alive <= 0.0) return kNeverSeconds;
  const BathtubParameters& p = parameters_;
  return p.share / alive *
         (std::exp(-age / p.early_seconds) / p.early_seconds +
          std::exp((age - p.end_seconds) / p.late_seconds) / p.late_seconds);
}

double Bathtub::lived_seconds(double from, double to) const {
  const BathtubParameters& p = parameters_;
  const auto until = [&](double age) {
    return age - p.share * (age + p.early_seconds * std::exp(-age / p.early_seconds) +
                            p.late_seconds * std::exp((age - p.end_seconds) / p.late_seconds));
  };
  const double first = std::min(from, last_age_seconds_);
  const double last = std::min(to, last_age_seconds_);
  return until(last) - until(first);
}

Bathtub fit_bathtub(const KaplanMeier& curve, double until_seconds) {
  constexpr int kSteps = 240;
  SCAVENGER_CHECK(until_seconds > 0.0);
  std::vector<double> ages, shares;
  for (int i = 1; i <= kSteps; ++i) {
    ages.push_back(until_seconds * i / kSteps);
    shares.push_back(1.0 - curve.survival(ages.back()));
  }
  const auto squares = [&](std::span<const double> x) {
    const BathtubParameters parameters = bathtub_from(x);
    double sum = 0.0;
    for (std::size_t i = 0; i < ages.size(); ++i) {
      const double difference = std::min(1.0, bathtub_share(parameters, ages[i])) - shares[i];
      sum += difference * difference;
    }
    return sum;
  };
  const double hours = until_seconds / kHourSeconds;
  const Box box{{0.001, std::log(hours / 500.0), std::log(hours / 500.0), 0.5 * hours},
                {1.0, std::log(hours), std::log(0.3 * hours), 1.5 * hours}};
  const std::vector<double> start{std::clamp(shares[kSteps / 2], 0.01, 0.9), std::log(hours / 24.0),
                                  std::log(hours / 32.0), hours};
  return Bathtub(bathtub_from(minimise_in_box(squares, start, box)));
}

}  // namespace scavenger::perfmodel
