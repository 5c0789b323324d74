#include "perfmodel/machines/outcome.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

JobOutlook outlook_of(double vms, Sharing sharing) {
  JobOutlook outlook;
  outlook.vms = vms;
  outlook.log_iteration_seconds = std::log(0.1);
  outlook.errors = {{1, 0.1}};
  outlook.iterations = 36000.0;
  outlook.price.worker_per_hour = 1.0;
  outlook.sharing = sharing;
  return outlook;
}

TEST_CASE("The slowest of K grows with K with even shares, and nearly vanishes with dynamic ones") {
  const OutcomeDraws draws({.between_vms = 0.05, .lemon_probability = 0.0}, 1, 4000);
  // E[max of 16 standard normals] = 1.766 (Harter 1961).
  CHECK(draws.mean_slowdown(16.0, Sharing::kEven) == Approx(std::exp(0.05 * 1.766)).epsilon(0.005));
  CHECK(draws.mean_slowdown(4.0, Sharing::kEven) == Approx(std::exp(0.05 * 1.029)).epsilon(0.005));
  CHECK(draws.mean_slowdown(16.0, Sharing::kDynamic) == Approx(1.0).epsilon(0.002));
  // A lemon among sixteen is nearly certain to hold up even shares, and costs dynamic ones little.
  const OutcomeDraws lemons({.between_vms = 0.0, .lemon_probability = 0.1}, 1, 4000);
  CHECK(lemons.mean_slowdown(16.0, Sharing::kEven) > 1.2);
  CHECK(lemons.mean_slowdown(16.0, Sharing::kDynamic) < 1.04);
}

TEST_CASE("Within the dead band dynamic shares stay even, and the slowest VM counts") {
  const OutcomeDraws alike({.between_vms = 0.01, .lemon_probability = 0.0}, 1, 4000);
  // E[max of 2 standard normals] = 0.564. Hardly any two of these differ by 6 %.
  CHECK(alike.mean_slowdown(2.0, Sharing::kDynamic) ==
        Approx(std::exp(0.01 * 0.564)).epsilon(5e-4));
  const OutcomeDraws apart({.between_vms = 0.2, .dead_band = 0.0, .lemon_probability = 0.0}, 1,
                           4000);
  CHECK(apart.mean_slowdown(2.0, Sharing::kDynamic) == Approx(1.0).epsilon(0.01));  // 1.12: even
}

TEST_CASE("Quantiles and probabilities are those of the normal errors that went in") {
  const OutcomeDraws draws(
      {.between_vms = 0.0, .drift = 0.0, .iterations = 0.0, .lemon_probability = 0.0}, 5, 8000);
  const JobOutlook outlook = outlook_of(2.0, Sharing::kDynamic);
  const Outcome outcome = draws.of(outlook, {.max_seconds = 3600.0 * std::exp(0.1)});
  CHECK(outcome.seconds.q50 == Approx(3600.0).epsilon(0.01));
  CHECK(outcome.seconds.q90 == Approx(3600.0 * std::exp(0.1282)).epsilon(0.01));
  CHECK(outcome.within_time == Approx(0.841).margin(0.015));
  CHECK(outcome.within_cost == 1.0);
  CHECK(outcome.cost.q50 == Approx(2.0).epsilon(0.01));
}

TEST_CASE(
    "Candidates of one type share their draws, so that the same is never better than itself") {
  const OutcomeDraws draws({}, 1, 500);
  JobOutlook slower = outlook_of(2.0, Sharing::kDynamic);
  slower.log_iteration_seconds += 0.01;
  const Outcome a = draws.of(outlook_of(2.0, Sharing::kDynamic));
  const Outcome b = draws.of(slower);
  CHECK(b.seconds.q10 == Approx(1.01005 * a.seconds.q10).epsilon(1e-6));
  CHECK(b.seconds.q90 == Approx(1.01005 * a.seconds.q90).epsilon(1e-6));
}

TEST_CASE("Spot machines lose what their hazard and their replacement say") {
  const OutcomeDraws draws({}, 2, 4000);
  JobOutlook outlook = outlook_of(4.0, Sharing::kDynamic);
  const Outcome safe = draws.of(outlook);
  outlook.spot =
      SpotRisk{.losses_per_vm_hour = 0.5, .replacement_seconds = 360.0, .price_per_hour = 1.0};
  const Outcome spot = draws.of(outlook);
  // Of one hour, four VMs lose 2 in the mean; each is away for a tenth of an hour.
  CHECK(spot.losses == Approx(2.0).epsilon(0.05));
  CHECK(spot.seconds.q50 > safe.seconds.q50 * 1.03);
  CHECK(spot.seconds.q50 < safe.seconds.q50 * 1.07);
  CHECK(spot.cost.q50 == Approx(safe.cost.q50).epsilon(0.01));  // nobody pays for absent VMs
}

}  // namespace
}  // namespace scavenger::perfmodel
