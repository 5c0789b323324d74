#include "perfmodel/survival/renewal_losses.h"

#include <catch2/catch.hpp>
#include <random>

#include "perfmodel/survival/early_hazard.h"
#include "perfmodel/survival/fitted_survival.h"
#include "test/unit/perfmodel/survival/lifetime_table.h"

namespace scavenger::perfmodel {
namespace {

// The mean number of losses in so many drawn histories of one machine and those in its place.
double drawn_losses(const Survival& survival, double replacement_seconds, double seconds) {
  constexpr int kHistories = 4000;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int losses = 0;
  for (int i = 0; i < kHistories; ++i)
    for (double time = 0.0;; time += replacement_seconds) {
      time += drawn_life_seconds(survival, 0.0, uniform(random));
      if (time > seconds) break;
      ++losses;
    }
  return static_cast<double>(losses) / kHistories;
}

TEST_CASE("Machines that do not age are lost at their rate") {
  const EarlyHazard constant({.losses_per_hour = 0.25});
  const RenewalLosses losses(constant, 0.0, 8.0 * kHourSeconds);
  CHECK(losses.until(0.0) == 0.0);
  CHECK(losses.until(kHourSeconds) == Approx(0.25).epsilon(0.02));
  CHECK(losses.until(8.0 * kHourSeconds) == Approx(2.0).epsilon(0.02));
  CHECK(losses.until(24.0 * kHourSeconds) == Approx(6.0).epsilon(0.02));  // beyond what was asked
}

TEST_CASE("Machines that are lost when young are lost most at the beginning, and again in turn") {
  const EarlyHazard early({.early_share = 0.4, .early_seconds = 1800.0, .losses_per_hour = 0.03});
  for (const double replacement : {0.0, 300.0}) {
    const RenewalLosses losses(early, replacement, 12.0 * kHourSeconds);
    for (const double hours : {0.5, 2.0, 12.0}) {
      INFO(replacement << " s, " << hours << " h");
      CHECK(losses.until(hours * kHourSeconds) ==
            Approx(drawn_losses(early, replacement, hours * kHourSeconds)).epsilon(0.06));
    }
    const double first = losses.until(kHourSeconds);
    const double last = losses.until(12.0 * kHourSeconds) - losses.until(11.0 * kHourSeconds);
    CHECK(first > 3.0 * last);
  }
}

TEST_CASE("The published lives of 2019 lose more in their first hour than a constant rate says") {
  const std::vector<Lifetime> lives = published_lifetimes("", "n1-highcpu-32");
  if (lives.empty()) return;
  REQUIRE(allows_fit(lives));
  const auto fitted = fitted_survival(lives);
  const RenewalLosses losses(*fitted, 90.0, kHourSeconds);
  const double constant =
      constant_hazard(lives).parameters().losses_per_hour;  // of one VM in an hour
  WARN("n1-highcpu-32, losses of a VM in its first hour: "
       << losses.until(kHourSeconds) << " by age, " << constant << " at a constant rate");
  CHECK(losses.until(kHourSeconds) > 1.5 * constant);
  CHECK(losses.until(kHourSeconds) ==
        Approx(drawn_losses(KaplanMeier(lives), 90.0, kHourSeconds)).epsilon(0.25));
}

TEST_CASE("A fit needs thirty losses of machines that live for hours") {
  std::vector<Lifetime> lives(29, {7200.0, true});
  CHECK(!allows_fit(lives));
  lives.push_back({7200.0, true});
  CHECK(allows_fit(lives));
  for (Lifetime& life : lives) life.seconds = 60.0;
  CHECK(!allows_fit(lives));
}

}  // namespace
}  // namespace scavenger::perfmodel
