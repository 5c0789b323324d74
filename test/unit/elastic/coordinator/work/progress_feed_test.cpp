#include "elastic/coordinator/work/progress_feed.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "test/support/manual_clock.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

// Two workers in the membership of epoch 1, which may do a hundred iterations.
class ProgressFeedTest {
 protected:
  ProgressFeedTest() {
    progress.begin(membership);
    progress.allow(100);
  }
  void report(std::uint32_t rank, std::uint64_t first, std::size_t count) {
    IterationStats stats;
    stats.first = first;
    for (auto* series : {&stats.loss_sum, &stats.seconds, &stats.data_wait_seconds,
                         &stats.forward_seconds, &stats.backward_seconds, &stats.sync_wait_seconds,
                         &stats.local_sqr_norm, &stats.global_sqr_norm})
      series->assign(count, 1.0);
    progress.add(rank, stats);
  }
  void feed(ProgressFeed::Detail detail) {
    progress.feed(detail, [this] { return epoch; });
  }

  ManualClock clock;
  const Membership membership{1, 8, {4, 4}, 0, 0};
  std::uint32_t epoch = 1;  // of the controller
  std::vector<std::vector<std::uint64_t>> told;
  ProgressFeed progress{clock, membership, [this](std::uint32_t rank, std::uint64_t count, double) {
                          told.push_back({rank, count});
                          return false;
                        }};
};

using Told = std::vector<std::vector<std::uint64_t>>;
using Detail = ProgressFeed::Detail;

}  // namespace

TEST_CASE_METHOD(ProgressFeedTest, "What all have done is told for each rank, but not too often") {
  report(0, 0, 3);
  feed(Detail::kIfDue);
  CHECK(told.empty());  // the other is behind
  report(1, 0, 2);
  feed(Detail::kIfDue);
  CHECK(told == Told{{0, 2}, {1, 2}});

  report(1, 2, 1);
  feed(Detail::kIfDue);
  CHECK(told.size() == 2);
  clock.seconds += 0.03;
  feed(Detail::kIfDue);
  CHECK(told == Told{{0, 2}, {1, 2}, {0, 3}, {1, 3}});
}

TEST_CASE_METHOD(ProgressFeedTest, "Workers that wait for a grant are told of at once") {
  report(0, 0, 1);
  report(1, 0, 1);
  feed(Detail::kIfDue);
  report(0, 1, 99);
  report(1, 1, 99);
  feed(Detail::kIfDue);
  CHECK(told.back() == std::vector<std::uint64_t>{1, 100});
}

TEST_CASE_METHOD(ProgressFeedTest, "All that is known is told once, also of those ahead") {
  report(0, 0, 5);
  report(1, 0, 2);
  feed(Detail::kAll);
  CHECK(told == Told{{0, 2}, {1, 2}, {0, 5}});
  feed(Detail::kAll);
  CHECK(told.size() == 3);
}

TEST_CASE_METHOD(ProgressFeedTest, "Nothing is told if the controller has another membership") {
  report(0, 0, 5);
  report(1, 0, 5);
  epoch = 2;
  feed(Detail::kAll);
  CHECK(told.empty());
}
