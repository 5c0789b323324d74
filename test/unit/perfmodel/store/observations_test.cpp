#include "perfmodel/store/observations.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "test/unit/perfmodel/store/sample_record.h"

using namespace scavenger;
using namespace scavenger::perfmodel;

TEST_CASE("rows of one configuration become one observation, weighted by their iterations") {
  ModelRecord record;
  record.times = {{"a", "m", 2, 64, 0.010, 0.0001, 300}, {"b", "m", 2, 64, 0.014, 0.0001, 100}};

  const Observations observed = observations_of(record);

  REQUIRE(observed.times.size() == 1);
  CHECK(observed.times[0].seconds == Approx(0.011));
  CHECK(observed.times[0].standard_error > 0.001);  // they differ by more than they state
}

TEST_CASE("a machine type counts alone, the one with most rows where none is named") {
  ModelRecord record = sample_record();
  record.times.push_back({"job2", "n2", 2, 64, 0.5, 0.0, 100});

  CHECK(observations_of(record).machine == "e2");
  CHECK(observations_of(record).times.size() == 6);
  CHECK(observations_of(record, {.machine = "n2", .target = {}, .phase = {}}).times.size() == 1);
  CHECK_THROWS_WITH(observations_of(record, {.machine = "x", .target = {}, .phase = {}}),
                    Catch::Contains("\"x\"") && Catch::Contains("\"e2\" and \"n2\""));
}

TEST_CASE("noise is normalised for many workers where the noise scale is known") {
  ModelRecord record;
  record.noise = {{"a", 1, 2, 100, 300.0, 0, 0, 0.8, 100},
                  {"b", 1, 8, 100, 300.0, 0, 0, 0.7, 100},
                  {"c", 1, 8, 200, 0.0, 0, 0, 0.5, 100}};

  const Observations observed = observations_of(record);

  REQUIRE(observed.noise.size() == 2);
  CHECK(observed.noise[0].normalised_noise == Approx(0.75));
  CHECK(observed.noise[1].normalised_noise == Approx(0.5));
  CHECK(observed.noise_scale == Approx(300.0));
}

TEST_CASE("phases of the learning rate and targets are not mixed") {
  ModelRecord record = sample_record();
  record.noise.push_back({"a", 2, 2, 64, 999.0, 0, 0, 0.0, 100});
  record.noise.push_back({"b", 2, 2, 64, 999.0, 0, 0, 0.0, 100});
  record.epochs.push_back({"a", "test accuracy 0.5", 2, 64, 1.0, 0.0});
  record.epochs.push_back({"b", "test accuracy 0.5", 2, 64, 1.0, 0.0});

  CHECK(observations_of(record).noise_scale == Approx(999.0));
  CHECK(observations_of(record, {.machine = {}, .target = {}, .phase = 1}).noise_scale ==
        Approx(250.0));
  CHECK(observations_of(record).target == "test accuracy 0.5");
  CHECK(observations_of(record, {.machine = {}, .target = "test accuracy 0.88", .phase = {}})
            .epochs.at(0)
            .epochs == 5.5);
}
