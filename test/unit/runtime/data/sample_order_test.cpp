#include "runtime/data/sample_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "runtime/base/random.h"

namespace scavenger {
namespace {

// The draws of one iteration by all of its workers, each with an order of its own, as in a job.
void take_iteration(std::uint64_t seed, std::uint32_t data_size, std::uint64_t first_position,
                    const std::vector<std::uint32_t>& shares, std::vector<SampleDraw>& draws) {
  for (std::uint32_t rank = 0; rank < shares.size(); ++rank) {
    SampleOrder order(seed, data_size);
    const WorkerSlice slice = worker_slice(first_position, shares, rank);
    for (std::uint32_t i = 0; i < slice.size; ++i) draws.push_back(order.at(slice.first + i));
  }
}

std::vector<SampleDraw> take_directly(std::uint64_t seed, std::uint32_t data_size,
                                      std::uint64_t positions) {
  SampleOrder order(seed, data_size);
  std::vector<SampleDraw> draws;
  for (std::uint64_t p = 0; p < positions; ++p) draws.push_back(order.at(p));
  return draws;
}

// Random b_k >= 0 that sum to `batch_size`, as proportional control may give them.
std::vector<std::uint32_t> uneven_shares(RandomStream& stream, std::uint32_t batch_size,
                                         std::uint32_t workers) {
  std::vector<std::uint32_t> shares(workers, 0);
  for (std::uint32_t i = 0; i < batch_size; ++i) ++shares[stream.below(workers)];
  return shares;
}

}  // namespace

TEST_CASE("Each epoch takes every sample exactly once") {
  constexpr std::uint32_t kSize = 101;

  const std::vector<SampleDraw> draws = take_directly(7, kSize, 3 * kSize);

  std::map<std::pair<std::uint64_t, std::uint32_t>, int> uses;
  for (const SampleDraw& draw : draws) ++uses[{draw.epoch, draw.index}];
  CHECK(uses.size() == 3 * kSize);
  CHECK(draws.front().epoch == 0);
  CHECK(draws.back().epoch == 2);
}

TEST_CASE("The order differs between epochs and between seeds") {
  const auto indices = [](std::uint64_t seed, std::uint64_t first) {
    SampleOrder order(seed, 50);
    std::vector<std::uint32_t> result;
    for (std::uint64_t p = first; p < first + 50; ++p) result.push_back(order.at(p).index);
    return result;
  };

  CHECK(indices(1, 0) != indices(1, 50));
  CHECK(indices(1, 0) != indices(2, 0));
  CHECK(indices(1, 0) == indices(1, 0));
}

TEST_CASE("The order does not change between versions of the program") {
  SampleOrder order(1, 10);
  std::vector<std::uint32_t> indices;

  for (std::uint64_t p = 0; p < 10; ++p) indices.push_back(order.at(p).index);

  CHECK(indices == std::vector<std::uint32_t>{5, 8, 0, 9, 6, 2, 4, 3, 1, 7});
}

TEST_CASE("A position may be asked for again after a later epoch was begun") {
  SampleOrder order(3, 20);
  const SampleDraw before = order.at(13);

  order.at(45);

  CHECK(order.at(13) == before);
}

TEST_CASE("Equal workers get shares that differ by one at most, the larger ones first") {
  CHECK(split_batch(10, 4) == std::vector<std::uint32_t>{3, 3, 2, 2});
  CHECK(split_batch(64, 1) == std::vector<std::uint32_t>{64});
  CHECK(split_batch(3, 3) == std::vector<std::uint32_t>{1, 1, 1});
}

TEST_CASE("The slices of all workers follow one another and cover the batch") {
  const std::vector<std::uint32_t> shares = {5, 0, 7};

  CHECK(worker_slice(100, shares, 0) == WorkerSlice{.first = 100, .size = 5});
  CHECK(worker_slice(100, shares, 1) == WorkerSlice{.first = 105, .size = 0});
  CHECK(worker_slice(100, shares, 2) == WorkerSlice{.first = 105, .size = 7});
}

TEST_CASE("No sample is skipped or repeated however K, B and the shares change in mid-epoch") {
  RandomStream stream(2026, "sample accounting test");
  for (int job = 0; job < 30; ++job) {
    const std::uint64_t seed = stream.bits();
    const auto data_size = static_cast<std::uint32_t>(1 + stream.below(200));
    std::uint64_t position = 0;
    std::vector<SampleDraw> draws;

    // Every iteration is a resume with another cluster; a batch may be larger than the data set.
    while (position < 5 * std::uint64_t{data_size}) {
      const auto workers = static_cast<std::uint32_t>(1 + stream.below(8));
      const auto batch_size = static_cast<std::uint32_t>(workers + stream.below(150));
      const bool even = stream.below(2) == 0;
      const std::vector<std::uint32_t> shares =
          even ? split_batch(batch_size, workers) : uneven_shares(stream, batch_size, workers);
      REQUIRE(std::accumulate(shares.begin(), shares.end(), 0u) == batch_size);
      take_iteration(seed, data_size, position, shares, draws);
      position += batch_size;
    }

    REQUIRE(draws == take_directly(seed, data_size, position));
  }
}

}  // namespace scavenger
