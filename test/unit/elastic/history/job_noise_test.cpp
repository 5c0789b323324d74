#include "elastic/history/job_noise.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "test/unit/elastic/events/sample_events.h"
#include "test/unit/noise/known_gradients.h"

namespace scavenger::elastic {
namespace {

constexpr double kTrace = 50.0;  // |G|^2 = 1, so that B_s = 50

// Iterations whose norms come from a problem with known noise.
class KnownJob final {
 public:
  fact::Iterations iterations(const fact::Membership& membership, std::uint32_t count,
                              double learning_rate = 0.1) {
    fact::Iterations made =
        sample_iterations(membership.membership_epoch, next_, count, membership.workers);
    made.learning_rate = learning_rate;
    const std::vector<double> shares(membership.shares.begin(), membership.shares.end());
    for (std::uint32_t i = 0; i < count; ++i) {
      problem_.draw(shares);
      made.global_sqr_norm[i] = problem_.batch_sqr_norm;
      for (std::uint32_t k = 0; k < membership.workers; ++k)
        made.workers[k].local_sqr_norm[i] = problem_.parts[k].sqr_norm;
    }
    next_ += count;
    return made;
  }
  // Every `spacing`-th with the halves of one worker's batch, in as many groups.
  fact::Iterations one_worker(const fact::Membership& membership, std::uint32_t count,
                              std::uint32_t spacing, std::size_t groups = 1) {
    fact::Iterations made = sample_iterations(membership.membership_epoch, next_, count, 1);
    made.learning_rate = 0.1;
    const std::uint32_t half = membership.batch_size / 2;
    for (std::uint32_t i = 0; i < count; i += spacing) {
      fact::HalfBatches halves{next_ + i, half, half, 0.001, {}, {}, {}};
      for (std::size_t g = 0; g < groups; ++g) {
        problem_.draw({static_cast<double>(half), static_cast<double>(half)});
        halves.first_sqr_norm.push_back(problem_.parts[0].sqr_norm);
        halves.second_sqr_norm.push_back(problem_.parts[1].sqr_norm);
        halves.whole_sqr_norm.push_back(problem_.batch_sqr_norm);
      }
      made.half_batches.push_back(halves);
    }
    next_ += count;
    return made;
  }

 private:
  noise::KnownGradients problem_{31, 64, 1.0, kTrace};
  std::uint64_t next_ = 0;
};

double noise_scale(const JobNoise& noise) {
  return noise.numbers()->estimate.noise_scale.value;
}

}  // namespace

TEST_CASE("the noise scale of a job is found with equal and with unequal batches") {
  for (const std::vector<std::uint32_t>& shares :
       {std::vector<std::uint32_t>{32, 32}, {8, 24, 32}, {1, 63}}) {
    KnownJob job;
    JobNoise noise;
    const fact::Membership membership = sample_membership(1, shares);
    for (int i = 0; i < 40; ++i) noise.add(membership, job.iterations(membership, 100));
    CHECK(noise_scale(noise) == Approx(50.0).epsilon(0.1));
  }
}

TEST_CASE("one worker's noise comes from the halves of its batch") {
  KnownJob job;
  JobNoise noise;
  const fact::Membership membership = sample_membership(1, {64});
  for (int i = 0; i < 100; ++i) noise.add(membership, job.one_worker(membership, 1000, 100));

  CHECK(noise_scale(noise) == Approx(50.0).epsilon(0.2));
  CHECK(noise.numbers()->estimate.iterations == 1000);
  CHECK(noise.half_batch_seconds() == Approx(1.0));
  const noise::Interval interval = noise.numbers()->estimate.noise_scale.interval;
  CHECK(interval.low < 50.0);
  CHECK(interval.high > 50.0);
}

TEST_CASE(
    "what was measured is kept across a change of K and B, and dropped at a step of the rate") {
  KnownJob job;
  JobNoise noise;
  const fact::Membership two = sample_membership(1, {16, 16}), one = sample_membership(2, {128}),
                         four = sample_membership(3, {16, 16, 16, 16});
  noise.add(two, job.iterations(two, 200));
  noise.add(one, job.one_worker(one, 10, 10));
  noise.add(four, job.iterations(four, 300));
  CHECK(noise.numbers()->estimate.iterations == 501);
  CHECK(noise.numbers()->phase == 1);
  CHECK(noise.ended_phases().empty());

  noise.add(four, job.iterations(four, 50, 0.01));

  CHECK(noise.numbers()->estimate.iterations == 50);
  CHECK(noise.numbers()->phase == 2);
  CHECK(noise.numbers()->learning_rate == 0.01);
  REQUIRE(noise.ended_phases().size() == 1);
  CHECK(noise.ended_phases()[0].estimate.iterations == 501);
}

TEST_CASE("by how much noise grew since the job was half as old is known until the rate steps") {
  KnownJob job;
  JobNoise noise;
  const fact::Membership membership = sample_membership(1, {32, 32});
  noise.add(membership, job.iterations(membership, 100));
  CHECK(noise.scale());
  CHECK_FALSE(noise.growth());
  for (int i = 0; i < 40; ++i) noise.add(membership, job.iterations(membership, 100));
  REQUIRE(noise.growth());
  CHECK(std::abs(noise.growth()->growth) < 3.0 * noise.growth()->deviation);  // it is a constant
  CHECK(noise.growth()->deviation < 0.2);
  noise.add(membership, job.iterations(membership, 50, 0.01));
  CHECK_FALSE(noise.growth());
}

TEST_CASE("that noise has settled is told once in each phase") {
  KnownJob job;
  JobNoise noise;
  const fact::Membership membership = sample_membership(1, {32, 32});
  std::vector<fact::NoiseStable> told;
  for (int i = 0; i < 60; ++i) {
    noise.add(membership, job.iterations(membership, 100, i < 30 ? 0.1 : 0.01));
    if (const auto news = noise.news()) {
      told.push_back(*news);
      noise.note_announced(news->noise_phase);
    }
  }

  REQUIRE(told.size() == 2);
  CHECK(told[0].noise_phase == 1);
  CHECK(told[0].iteration >= 1000);
  CHECK(told[0].noise_scale_low < told[0].noise_scale);
  CHECK(told[1].noise_phase == 2);
  CHECK(told[1].learning_rate == 0.01);
}

TEST_CASE("a learning rate that only follows the batch starts no new phase") {
  KnownJob job;
  JobNoise noise;
  const fact::Membership small = sample_membership(1, {32, 32});
  fact::Membership large = sample_membership(2, {64, 64});
  large.rate_factor = 1.5;
  for (int i = 0; i < 10; ++i) noise.add(small, job.iterations(small, 100, 0.1));
  const std::uint64_t before = noise.numbers()->estimate.iterations;
  noise.add(large, job.iterations(large, 20, 0.15));  // a look
  noise.add(small, job.iterations(small, 20, 0.1));
  CHECK(noise.numbers()->phase == 1);
  CHECK(noise.numbers()->learning_rate == Approx(0.1));
  CHECK(noise.numbers()->estimate.iterations == before + 40);
  noise.add(large, job.iterations(large, 20, 0.015));
  CHECK(noise.numbers()->phase == 2);
  CHECK(noise.numbers()->learning_rate == Approx(0.01));
}

TEST_CASE("iterations that not all workers lived to report say nothing about noise") {
  KnownJob job;
  JobNoise noise;
  const fact::Membership membership = sample_membership(1, {32, 32});
  fact::Iterations part = job.iterations(membership, 10);
  part.workers.pop_back();
  noise.add(membership, part);
  CHECK_FALSE(noise.numbers());
}

TEST_CASE("each group of parameters has noise of its own") {
  KnownJob job;
  JobNoise noise;
  noise.set_groups({"layers.0", "layers.1"});
  const fact::Membership membership = sample_membership(1, {64});
  for (int i = 0; i < 100; ++i) noise.add(membership, job.one_worker(membership, 1000, 100, 2));

  const std::vector<GroupNoise> groups = noise.groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "layers.0");
  for (const GroupNoise& group : groups)
    CHECK(group.estimate.noise_scale.value == Approx(50.0).epsilon(0.25));
  CHECK(noise_scale(noise) == Approx(50.0).epsilon(0.25));  // both have the same
}

TEST_CASE("rare measurements forget the first one, of a group as of the whole") {
  JobNoise noise;
  noise.set_groups({"layers.0"});
  const fact::Membership membership = sample_membership(1, {64});
  for (std::uint64_t at = 0; at <= 1200; at += 300) {
    const double gradient = at == 0 ? 100.0 : 1.0, trace = 64.0;  // halves of 32, a batch of 64
    fact::Iterations made = sample_iterations(1, at, 300, 1);
    made.learning_rate = 0.1;
    made.half_batches.push_back({at,
                                 32,
                                 32,
                                 0.001,
                                 {gradient + trace / 32.0},
                                 {gradient + trace / 32.0},
                                 {gradient + trace / 64.0}});
    noise.add(membership, made);
  }
  CHECK(noise_scale(noise) > 0.4 * 64.0);
  CHECK(noise.groups()[0].estimate.noise_scale.value == Approx(noise_scale(noise)).epsilon(0.05));
}

}  // namespace scavenger::elastic
