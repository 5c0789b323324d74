// The surrogate on 162 simulated density profiles, 80 % of which it sees.
// SCAVENGER_SURROGATE_SEEDS=5 runs the whole test and prints its table
// (docs/results/surrogates.md).
#include "test/unit/campaign/surrogate/published_profiles.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>

#include "campaign/surrogate/surrogate.h"
#include "runtime/base/random.h"
#include "test/unit/campaign/surrogate/adam_trainer.h"
#include "test/unit/campaign/surrogate/selection_study.h"

namespace scavenger::surrogate {

// A fifth is held out. Half of that calibrates the error bars, the other half checks them.
TEST_CASE("held-out profiles are within their error bars, and sigma is what it says") {
  const std::vector<Sample> samples = published_profiles();
  if (samples.empty()) return;
  REQUIRE(samples.size() == 162);
  std::vector<std::vector<double>> points;
  for (const Sample& sample : samples) points.push_back(sample.parameters);
  const UnitSpace space(points);
  const int seeds = study_seeds() > 0 ? study_seeds() : 1;
  double covered = 0.0, within = 0.0, squares = 0.0;
  for (int seed = 1; seed <= seeds; ++seed) {
    RandomStream random(static_cast<std::uint64_t>(seed), "split");
    const auto order = permutation(random, 162);
    std::vector<Sample> trained, held[2];
    for (std::size_t i = 0; i < order.size(); ++i)
      (i < 32 ? held[i % 2] : trained).push_back(samples[order[i]]);
    FitSettings settings;
    settings.seed = static_cast<std::uint64_t>(seed);
    if (study_seeds() == 0) settings.iterations = 1500, settings.members = 4;
    Surrogate surrogate = fit_surrogate(space, trained, settings, train_with_adam);
    const double raw = surrogate.error_on(held[1]).covered;
    for (const int half : {0, 1}) {
      surrogate.calibrate(held[half]);
      const HoldoutError error = surrogate.error_on(held[1 - half]);
      const std::string row =
          fmt::format("| {} | {} | {:.4f} | {:.4f} | {:.4f} | {:.4f} | {:.2f} |", seed, half,
                      error.rmse, error.within, raw, error.covered, surrogate.calibration());
      if (study_seeds() > 0) std::cout << row << std::endl;
      INFO(row);
      CHECK(error.rmse <= 0.015);
      covered += 0.5 * error.covered / seeds;
      within += 0.5 * error.within / seeds;
      squares += 0.5 * error.rmse * error.rmse / seeds;
    }
  }
  const std::string row = fmt::format("mean: rmse {:.4f} within {:.4f} covered {:.4f}",
                                      std::sqrt(squares), within, covered);
  if (study_seeds() > 0) std::cout << row << std::endl;
  INFO(row);
  CHECK(within >= (study_seeds() > 0 ? 0.95 : 0.93));  // a quick training is a worse one
  CHECK(covered >= 0.90);
  CHECK(covered <= 0.98);
}

}  // namespace scavenger::surrogate
