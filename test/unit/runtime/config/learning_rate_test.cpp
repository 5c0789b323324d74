#include "runtime/config/learning_rate.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>

namespace scavenger {
namespace {

double rate_at(const ScheduleConfig& schedule, double epochs) {
  OptimizerConfig optimizer;
  optimizer.learning_rate = 0.8;
  optimizer.schedule = schedule;
  return learning_rate(optimizer, epochs);
}

TEST_CASE("Without a schedule the learning rate stays at its base") {
  CHECK(rate_at({}, 0.0) == 0.8);
  CHECK(rate_at({}, 1000.0) == 0.8);
}

TEST_CASE("Warm-up is a straight line from 0 to the base rate") {
  ScheduleConfig schedule;
  schedule.warmup_epochs = 4.0;

  CHECK(rate_at(schedule, 0.0) == 0.0);
  CHECK(rate_at(schedule, 1.0) == Approx(0.2));
  CHECK(rate_at(schedule, 3.0) == Approx(0.6));
  CHECK(rate_at(schedule, 4.0) == 0.8);
  CHECK(rate_at(schedule, 5.0) == 0.8);
}

TEST_CASE("A step schedule multiplies by the factor at each boundary, boundary included") {
  ScheduleConfig schedule;
  schedule.type = ScheduleType::kStep;
  schedule.boundary_epochs = {2.0, 5.0};
  schedule.factor = 0.25;

  CHECK(rate_at(schedule, 1.999) == 0.8);
  CHECK(rate_at(schedule, 2.0) == Approx(0.2));
  CHECK(rate_at(schedule, 4.999) == Approx(0.2));
  CHECK(rate_at(schedule, 5.0) == Approx(0.05));
  CHECK(rate_at(schedule, 100.0) == Approx(0.05));
}

TEST_CASE("A cosine schedule falls along half a cosine and stays at its end") {
  ScheduleConfig schedule;
  schedule.type = ScheduleType::kCosine;
  schedule.total_epochs = 12.0;

  CHECK(rate_at(schedule, 0.0) == 0.8);
  CHECK(rate_at(schedule, 4.0) == Approx(0.6));  // cos(pi/3) = 1/2
  CHECK(rate_at(schedule, 6.0) == Approx(0.4));
  CHECK(rate_at(schedule, 8.0) == Approx(0.2));
  CHECK(rate_at(schedule, 12.0) == Approx(0.0).margin(1e-15));
  CHECK(rate_at(schedule, 50.0) == Approx(0.0).margin(1e-15));
}

TEST_CASE("A cosine after warm-up starts at the end of warm-up and ends at the final fraction") {
  ScheduleConfig schedule;
  schedule.type = ScheduleType::kCosine;
  schedule.warmup_epochs = 2.0;
  schedule.total_epochs = 8.0;
  schedule.final_fraction = 0.1;

  CHECK(rate_at(schedule, 1.0) == Approx(0.4));
  CHECK(rate_at(schedule, 2.0) == Approx(0.8));
  CHECK(rate_at(schedule, 4.0) == Approx(0.8 * (0.1 + 0.9 * 0.75)));
  CHECK(rate_at(schedule, 8.0) == Approx(0.08));
}

TEST_CASE("An inverse square root falls from the end of warm-up on") {
  ScheduleConfig schedule;
  schedule.type = ScheduleType::kInverseSqrt;
  schedule.warmup_epochs = 2.0;

  CHECK(rate_at(schedule, 1.0) == Approx(0.4));
  CHECK(rate_at(schedule, 2.0) == Approx(0.8));
  CHECK(rate_at(schedule, 8.0) == Approx(0.4));
  CHECK(rate_at(schedule, 200.0) == Approx(0.08));
}

TEST_CASE("Another batch size changes the learning rate as the rule says") {
  const auto factor = [](BatchSizeRule rule, std::uint32_t reference, std::uint32_t batch_size) {
    OptimizerConfig optimizer;
    optimizer.batch_size_rule = rule;
    optimizer.reference_batch_size = reference;
    return batch_size_factor(optimizer, batch_size);
  };

  CHECK(factor(BatchSizeRule::kNone, 64, 256) == 1.0);
  CHECK(factor(BatchSizeRule::kLinear, 64, 256) == 4.0);
  CHECK(factor(BatchSizeRule::kSqrt, 64, 256) == 2.0);
  CHECK(factor(BatchSizeRule::kLinear, 256, 64) == 0.25);
  CHECK(factor(BatchSizeRule::kLinear, 64, 64) == 1.0);
}

TEST_CASE("AdaScale's gain follows the noise scale, between one and the ratio of the batches") {
  OptimizerConfig optimizer;
  optimizer.batch_size_rule = BatchSizeRule::kAdaScale;
  optimizer.reference_batch_size = 64;
  const double infinity = std::numeric_limits<double>::infinity();

  CHECK(batch_size_factor(optimizer, 256, 0.0) == 1.0);
  CHECK(batch_size_factor(optimizer, 256, infinity) == 4.0);
  CHECK(batch_size_factor(optimizer, 256, 192.0) == Approx(4.0 * 256.0 / 448.0));
  // The variance of the gradient of 64 samples over that of the larger batch: 1 + B_s / B of each.
  CHECK(batch_size_factor(optimizer, 256, 192.0) == Approx((1.0 + 3.0) / (1.0 + 0.75)));
  CHECK(batch_size_factor(optimizer, 64, 192.0) == 1.0);
  CHECK(batch_size_factor(optimizer, 16, 192.0) == Approx(4.0 / 13.0));
  CHECK(batch_size_factor(optimizer, 256) == 2.0);  // the noise is not known: the square root

  optimizer.type = OptimizerType::kAdam;
  CHECK(batch_size_factor(optimizer, 256, infinity) == 2.0);
  CHECK(batch_size_factor(optimizer, 256) == Approx(std::sqrt(2.0)));
}

TEST_CASE("The rate of an iteration follows from its position and the membership's factor") {
  OptimizerConfig optimizer;
  optimizer.learning_rate = 0.5;
  optimizer.schedule.type = ScheduleType::kStep;
  optimizer.schedule.boundary_epochs = {2.0};
  optimizer.schedule.factor = 0.1;
  Membership membership{3, 200, {100, 100}, 10, 1000, 2.0};
  CHECK(learning_rate_at(optimizer, membership, 1000, 10) == 1.0);
  CHECK(learning_rate_at(optimizer, membership, 1000, 14) == 1.0);  // 1800 samples
  CHECK(learning_rate_at(optimizer, membership, 1000, 15) == Approx(0.1));
}

TEST_CASE("A schedule is where it was when the batch size changes") {
  ScheduleConfig schedule;
  schedule.type = ScheduleType::kStep;
  schedule.boundary_epochs = {2.0};
  // 1000 samples: 10 iterations of 100 and 5 of 200 are one epoch each, as 8 of 250 are two.
  CHECK(rate_at(schedule, (10 * 100 + 5 * 200) / 1000.0) == rate_at(schedule, 8 * 250 / 1000.0));
  CHECK(rate_at(schedule, (10 * 100 + 4 * 200) / 1000.0) == rate_at(schedule, 0.0));
}

}  // namespace
}  // namespace scavenger
