// Invariant 1: whatever happens to K, B and the shares, and whenever, each sample is taken once in
// each epoch, in the one order of the job.
#include "runtime/data/sample_order.h"

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/training/membership.h"

using namespace scavenger;

namespace {

Membership random_membership(RandomStream& random, std::uint32_t epoch) {
  Membership membership;
  membership.epoch = epoch;
  const auto workers = static_cast<std::uint32_t>(1 + random.below(6));
  if (random.below(2) == 0) {
    membership.batch_size = workers + static_cast<std::uint32_t>(random.below(50));
    membership.shares = split_batch(membership.batch_size, workers);
    return membership;
  }
  for (std::uint32_t rank = 0; rank < workers; ++rank) {  // unequal workers
    membership.shares.push_back(static_cast<std::uint32_t>(1 + random.below(12)));
    membership.batch_size += membership.shares.back();
  }
  return membership;
}

// A job whose workers each draw for themselves, as their processes do, and which loses the
// iteration in flight now and then.
std::vector<SampleDraw> draws_of_job(std::uint64_t seed, std::uint32_t data_size) {
  RandomStream random(seed, "memberships");
  std::vector<SampleDraw> done;
  std::uint64_t iteration = 0, position = 0;
  for (std::uint32_t epoch = 1; epoch <= 12; ++epoch) {
    Membership membership = random_membership(random, epoch);
    membership.first_iteration = iteration;
    membership.first_position = position;
    std::vector<SampleOrder> workers(membership.workers(), SampleOrder(seed, data_size));
    for (std::uint64_t left = random.below(20); left > 0; --left, ++iteration) {
      const bool is_lost = left == 1 && random.below(2) == 0;
      const std::uint64_t first = membership.position_at(iteration);
      for (std::uint32_t rank = 0; rank < membership.workers(); ++rank) {
        const WorkerSlice slice = worker_slice(first, membership.shares, rank);
        REQUIRE(slice.first == first + membership.offset_of(rank));
        for (std::uint32_t i = 0; i < slice.size; ++i) {
          const SampleDraw draw = workers[rank].at(slice.first + i);
          if (!is_lost) done.push_back(draw);
        }
      }
      if (is_lost) break;
    }
    position = membership.position_at(iteration);
  }
  return done;
}

}  // namespace

TEST_CASE("each sample is taken once in each epoch, however often a job is reshaped") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    const auto data_size = static_cast<std::uint32_t>(1 + RandomStream(seed, "size").below(200));

    const std::vector<SampleDraw> draws = draws_of_job(seed, data_size);

    SampleOrder order(seed, data_size);
    std::vector<std::uint64_t> uses(data_size);
    for (std::uint64_t place = 0; place < draws.size(); ++place) {
      REQUIRE(draws[place] == order.at(place));
      REQUIRE(draws[place].epoch == place / data_size);
      REQUIRE(++uses[draws[place].index] == 1 + draws[place].epoch);
    }
  }
}
