#include <catch2/catch.hpp>
#include <cmath>

#include "perfmodel/survival/bathtub.h"
#include "perfmodel/survival/early_hazard.h"
#include "perfmodel/survival/kaplan_meier.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "test/unit/perfmodel/survival/durations.h"
#include "test/unit/perfmodel/survival/lifetime_table.h"

namespace scavenger::perfmodel {
namespace {

// Simpson's rule.
template <class Function>
double integral(const Function& function, double from, double to, int steps = 2000) {
  const double h = (to - from) / steps;
  double sum = function(from) + function(to);
  for (int i = 1; i < steps; ++i) sum += (i % 2 == 1 ? 4.0 : 2.0) * function(from + h * i);
  return sum * h / 3.0;
}

void check_consistent(const Survival& model, double until) {
  for (const double age : {0.0, 0.3 * until, 0.8 * until}) {
    const double length = 0.15 * until;
    CHECK(model.lived_seconds(age, age + length) ==
          Approx(integral([&](double t) { return model.survival(t); }, age, age + length)));
    // S(t) / S(s) = exp(-int hazard), and the lost work as the definition has it.
    const auto density = [&](double u) {
      return u * model.hazard(age + u) * model.survival(age + u) / model.survival(age);
    };
    CHECK(
        chance_to_live(model, age, length) ==
        Approx(std::exp(-integral([&](double t) { return model.hazard(t); }, age, age + length))));
    CHECK(expected_loss_seconds(model, age, length) == Approx(integral(density, 0.0, length)));
    const double life = drawn_life_seconds(model, age, 0.3);
    CHECK(chance_to_live(model, age, life - age) == Approx(0.7).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("Kaplan and Meier: the example by hand, with censored lives") {
  // Losses at 1, 3 (twice) and 8 h; 2 and 3 h were returned, 10 h lives on.
  const std::vector<Lifetime> lifetimes{{8 * kHour, true},  {1 * kHour, true}, {3 * kHour, true},
                                        {2 * kHour, false}, {3 * kHour, true}, {3 * kHour, false},
                                        {10 * kHour, false}};
  const KaplanMeier curve(lifetimes);
  CHECK(curve.survival(0.5 * kHour) == 1.0);
  CHECK(curve.survival(kHour) == Approx(6.0 / 7.0));
  CHECK(curve.survival(2.5 * kHour) == Approx(6.0 / 7.0));
  CHECK(curve.survival(3 * kHour) == Approx(6.0 / 7.0 * 3.0 / 5.0));
  CHECK(curve.survival(9 * kHour) == Approx(6.0 / 7.0 * 3.0 / 5.0 * 0.5));
  CHECK(curve.lived_seconds(0.0, 4 * kHour) ==
        Approx(kHour * (1.0 + 2.0 * 6.0 / 7.0 + 18.0 / 35.0)));
  // Greenwood: S sqrt(1 / (7 6) + 2 / (5 3)).
  CHECK(curve.standard_error(4 * kHour) ==
        Approx(18.0 / 35.0 * std::sqrt(1.0 / 42.0 + 2.0 / 15.0)));
  // Beyond the last life the mean rate of all: 4 losses in 30 h.
  CHECK(curve.survival(20 * kHour) == Approx(9.0 / 35.0 * std::exp(-4.0 / 30.0 * 10.0)));
  CHECK(curve.mean_life_seconds() ==
        Approx(curve.lived_seconds(0.0, 10 * kHour) + 9.0 / 35.0 * 7.5 * kHour));
}

TEST_CASE("Kaplan and Meier finds a known curve in lives that were mostly cut short") {
  const EarlyHazard truth({.early_share = 0.3, .early_seconds = kHour, .losses_per_hour = 0.05});
  RandomStream random(7, "lifetimes");
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < 4000; ++i) {
    const double life = drawn_life_seconds(truth, 0.0, random.uniform());
    const double returned = -2.0 * kHour * std::log1p(-random.uniform());
    lifetimes.push_back({std::min(life, returned), life < returned});
  }
  const KaplanMeier curve(lifetimes);
  for (const double hours : {0.25, 1.0, 2.0, 4.0}) {
    const double difference = curve.survival(hours * kHour) - truth.survival(hours * kHour);
    CHECK(std::abs(difference) < 4.0 * curve.standard_error(hours * kHour));
  }
  SECTION("and so does the fit of an early share and a constant rate") {
    const EarlyHazardParameters fitted = fit_early_hazard(lifetimes, 100 * kHour).parameters();
    CHECK(fitted.early_share == Approx(0.3).margin(0.05));
    CHECK(fitted.early_seconds == Approx(kHour).epsilon(0.25));
    CHECK(fitted.losses_per_hour == Approx(0.05).epsilon(0.4));
  }
}

TEST_CASE("lifetimes that say nothing are refused") {
  CHECK_THROWS_AS(KaplanMeier(std::vector<Lifetime>{}), DataError);
  CHECK_THROWS_AS(KaplanMeier(std::vector<Lifetime>{{5.0, false}}), DataError);
  CHECK_THROWS_AS(KaplanMeier(std::vector<Lifetime>{{5.0, true}, {-1.0, false}}), DataError);
  CHECK_THROWS_AS(KaplanMeier(std::vector<Lifetime>{{5.0, true}, {std::nan(""), true}}), DataError);
  CHECK_THROWS_AS(fit_early_hazard(std::vector<Lifetime>{{9.0, true}}, 5.0), DataError);
}

TEST_CASE("few lifetimes give the constant rate between the prior and what was seen") {
  CHECK(constant_hazard({}, 10 * kHour).mean_life_seconds() == Approx(10 * kHour));
  const std::vector<Lifetime> seen{{kHour, true}, {3 * kHour, false}};
  CHECK(constant_hazard(seen, 10 * kHour).mean_life_seconds() == Approx(7 * kHour));
}

TEST_CASE("survival, hazard, integral and drawn lives belong together") {
  check_consistent(Bathtub({}), 24 * kHour);
  check_consistent(EarlyHazard({.early_share = 0.2, .losses_per_hour = 0.04}), 40 * kHour);
  const EarlyHazard exponential({.losses_per_hour = 0.5});
  check_consistent(exponential, 4 * kHour);
  CHECK(exponential.mean_life_seconds() == Approx(2 * kHour));
  const Bathtub bathtub({});
  CHECK(bathtub.survival(bathtub.last_age_seconds()) == 0.0);
  CHECK(bathtub.hazard(bathtub.last_age_seconds()) == kInfinity);
  CHECK(bathtub.survival(bathtub.last_age_seconds() - 60.0) > 0.0);
}

TEST_CASE("no machine outlives a wall") {
  const auto within = std::make_shared<EarlyHazard>(EarlyHazardParameters{.losses_per_hour = 0.01});
  const auto walled = with_wall(within, 10 * kHour);
  CHECK(walled->wall_seconds() == 10 * kHour);
  CHECK(walled->survival(9.9 * kHour) == within->survival(9.9 * kHour));
  CHECK(walled->survival(10 * kHour) == 0.0);
  CHECK(walled->mean_life_seconds() == Approx(within->lived_seconds(0.0, 10 * kHour)));
  CHECK(drawn_life_seconds(*walled, 0.0, 0.99) == Approx(10 * kHour));
  CHECK(expected_loss_seconds(*walled, 9 * kHour, 2 * kHour) < kHour);
}

TEST_CASE("the published preemptible VMs: Kaplan-Meier and the bathtub, beside another fit") {
  // A, tau1 h, tau2 h, b h and F(1 h), F(12 h), which scipy gave for the same lifetimes.
  struct Row {
    const char* zone;
    double share, early, late, end, first_hour, half_day;
  };
  for (const Row& row : {Row{"us-central1-c", 0.375, 1.11, 0.699, 24.39, 0.221, 0.396},
                         Row{"us-west1-a", 0.207, 2.16, 0.139, 24.05, 0.069, 0.191}}) {
    const std::vector<Lifetime> lifetimes = published_lifetimes(row.zone);
    if (lifetimes.empty()) return;
    INFO(row.zone);
    const KaplanMeier curve(lifetimes);
    CHECK(1.0 - curve.survival(kHour) == Approx(row.first_hour).margin(0.003));
    CHECK(1.0 - curve.survival(12 * kHour) == Approx(row.half_day).margin(0.003));
    const Bathtub bathtub = fit_bathtub(curve, 24 * kHour);
    const Bathtub other({row.share, row.early * kHour, row.late * kHour, row.end * kHour});
    const auto distance = [&](const Bathtub& fit) {
      double squares = 0.0;
      for (double hours = 0.1; hours < 24.0; hours += 0.1)
        squares += std::pow(fit.survival(hours * kHour) - curve.survival(hours * kHour), 2);
      return std::sqrt(squares / 240.0);
    };
    CHECK(distance(bathtub) < 0.02);
    CHECK(distance(bathtub) <= distance(other));
    CHECK(bathtub.parameters().share == Approx(row.share).margin(0.05));
    CHECK(bathtub.parameters().end_seconds > 23.5 * kHour);
  }
}

}  // namespace scavenger::perfmodel
