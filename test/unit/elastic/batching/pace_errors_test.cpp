#include "elastic/batching/pace_errors.h"

#include <catch2/catch.hpp>

#include "elastic/batching/pace_window.h"
#include "test/unit/elastic/batching/simulated_workers.h"

namespace scavenger::elastic {
namespace {

const std::vector<std::uint32_t> kWorkers = {4, 7};

void add(PaceErrors& errors, const std::vector<double>& seconds, int iterations) {
  for (int i = 0; i < iterations; ++i) errors.add(seconds);
}

TEST_CASE("A worker twice as slow as the other for a window has an integral of half of log 2") {
  PaceErrors errors;
  errors.begin(kWorkers);
  add(errors, {2.0, 1.0}, PaceWindow::kRecent);
  CHECK(errors.integral(4) == Approx(0.5 * std::log(2.0)));
  CHECK(errors.integral(7) == Approx(-0.5 * std::log(2.0)));
  CHECK(errors.derivative(4) == Approx(0.0).margin(1e-12));
  SECTION("which grows no further than its limit") {
    add(errors, {2.0, 1.0}, 1000);
    CHECK(errors.integral(4) == Approx(PaceErrors::kLargestIntegral));
  }
  SECTION("and stays with the worker, whatever its rank") {
    errors.begin(std::vector<std::uint32_t>{7, 4});
    CHECK(errors.integral(4) == Approx(0.5 * std::log(2.0)));
  }
  SECTION("but not with one that left, or got another machine") {
    errors.begin(std::vector<std::uint32_t>{7});
    CHECK(errors.integral(4) == 0.0);
    errors.forget(7);
    CHECK(errors.integral(7) == 0.0);
  }
}

TEST_CASE("The derivative is what a steady slowing adds in half a window") {
  PaceErrors errors;
  errors.begin(kWorkers);
  for (int i = 0; i < 80; ++i) errors.add({std::exp(0.02 * i), 1.0});
  CHECK(errors.derivative(4) == Approx(0.5 * 0.02 * 25.0));
  CHECK(errors.derivative(7) == Approx(-0.5 * 0.02 * 25.0));
  CHECK(errors.correction(4, {.integral = 0.0, .derivative = 2.0}) == Approx(0.02 * 25.0));
  SECTION("and begins anew with the shares") {
    errors.begin(kWorkers);
    CHECK(errors.derivative(4) == 0.0);
  }
}

TEST_CASE(
    "An integral part acts on what the dead band leaves alone, proportional control does not") {
  const auto law = affine_law({1000.0, 1050.0});
  SimulatedWorkers proportional(2, 200, law);
  proportional.run(2000);
  CHECK(proportional.adjustments() == 0);

  BatchingSettings settings;
  settings.gains.integral = 0.2;
  SimulatedWorkers integral(2, 200, law, settings);
  integral.run(2000);
  CHECK(integral.adjustments() > 0);
}

TEST_CASE("A derivative part gives a worker that gets slower and slower less at once") {
  const auto law = [](std::uint32_t worker, double share, std::uint64_t iteration) {
    return share /
           (worker == 0 ? 1000.0 * std::exp(-0.01 * static_cast<double>(iteration)) : 1000.0);
  };
  BatchingSettings settings;
  SimulatedWorkers proportional(2, 2000, law, settings);
  settings.gains.derivative = 1.0;
  SimulatedWorkers derivative(2, 2000, law, settings);
  while (proportional.adjustments() == 0) proportional.run(1);
  while (derivative.adjustments() == 0) derivative.run(1);
  CHECK(derivative.iteration() <= proportional.iteration());
  CHECK(derivative.shares()[0] < proportional.shares()[0]);
}

}  // namespace
}  // namespace scavenger::elastic
