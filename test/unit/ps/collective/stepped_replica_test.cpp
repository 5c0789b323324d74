#include "ps/collective/stepped_replica.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

constexpr std::uint64_t kFloats = 5000;  // of several chunks
const ChunkLayout kLayout(kFloats, 4096, 1);

// Counts its steps in its state, and subtracts the gradient.
void step(const WholeStep& whole) {
  const auto rate = static_cast<float>(whole.step.learning_rate);
  for (std::size_t i = 0; i < kFloats; ++i) {
    whole.to[0][i] = whole.from[0][i] - rate * whole.gradient[i];
    whole.to[1][i] = whole.from[1][i] + 1.0F;
  }
}

GradientNorms iterate(SteppedReplica& replica, std::uint64_t iteration, float gradient,
                      float share) {
  replica.begin({iteration, 0.5, iteration + 1, 0});
  std::ranges::fill(replica.gradients(), gradient);
  replica.weight({0, kFloats}, share);
  replica.step({0, kFloats});
  return replica.finish().value();
}

}  // namespace

TEST_CASE("the user's step goes from one version to the other, with the norms of both gradients") {
  OptimizerConfig optimizer{.type = OptimizerType::kPython, .schedule = {}, .state = {"count"}};
  SteppedReplica replica(kLayout, optimizer, step);
  REQUIRE(replica.state_vectors() == 1);
  replica.clear(0);
  const GradientNorms norms = iterate(replica, 0, 2.0F, 0.25F);
  CHECK(norms.local_sqr_norm == Approx(4.0 * kFloats));
  CHECK(norms.global_sqr_norm == Approx(0.25 * kFloats));
  CHECK(replica.vector(0, 1)[kFloats - 1] == -0.25F);
  CHECK(replica.vector(0, 0)[kFloats - 1] == 0.0F);
  iterate(replica, 0, 2.0F, 0.25F);  // made again after a loss
  CHECK(replica.vector(0, 1)[0] == -0.25F);
  iterate(replica, 1, 2.0F, 0.25F);
  CHECK(replica.vector(0, 2)[0] == -0.5F);
  CHECK(replica.vector(1, 2)[7] == 2.0F);
}

TEST_CASE("the user's step gets the clipped gradient") {
  OptimizerConfig optimizer{
      .type = OptimizerType::kPython, .clip_norm = 1.0, .schedule = {}, .state = {"count"}};
  SteppedReplica replica(kLayout, optimizer, step);
  replica.clear(0);
  CHECK(iterate(replica, 0, 2.0F, 1.0F).global_sqr_norm == Approx(4.0 * kFloats));
  CHECK(replica.vector(0, 1)[3] == Approx(-0.5 / std::sqrt(static_cast<double>(kFloats))));
}

TEST_CASE("an error of the user's step goes through") {
  OptimizerConfig optimizer{.type = OptimizerType::kPython, .schedule = {}};
  SteppedReplica replica(kLayout, optimizer, [](const WholeStep&) {
    throw ConfigError({.what = "no step", .where = {}, .remedy = {}});
  });
  CHECK_THROWS_AS(iterate(replica, 0, 1.0F, 1.0F), ConfigError);
}
