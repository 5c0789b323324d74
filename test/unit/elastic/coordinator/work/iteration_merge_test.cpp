#include "elastic/coordinator/work/iteration_merge.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

Membership two_workers(std::uint64_t first_iteration = 0) {
  return {3, 10, {6, 4}, first_iteration, 0};
}

// Of workers that may do as many iterations as they like.
IterationMerge merge_of(Membership membership) {
  IterationMerge merge(std::move(membership));
  merge.allow(UINT64_MAX);
  return merge;
}

// Every series has its own value for each iteration, so that none can be taken for another.
IterationStats stats(std::uint64_t first, std::size_t count, double worker = 0.0) {
  IterationStats made;
  made.first = first;
  made.learning_rate = 0.1;
  for (std::size_t i = 0; i < count; ++i) {
    const double base = 100.0 * worker + static_cast<double>(first + i);
    made.loss_sum.push_back(base + 0.1);
    made.seconds.push_back(base + 0.2);
    made.data_wait_seconds.push_back(base + 0.3);
    made.forward_seconds.push_back(base + 0.4);
    made.backward_seconds.push_back(base + 0.5);
    made.sync_wait_seconds.push_back(base + 0.6);
    made.local_sqr_norm.push_back(base + 0.7);
    made.global_sqr_norm.push_back(base + 0.8);
  }
  return made;
}

}  // namespace

TEST_CASE("an iteration comes out when all workers have reported it") {
  IterationMerge merge = merge_of(two_workers());

  CHECK_FALSE(merge.take());
  merge.add(0, stats(0, 3));
  CHECK_FALSE(merge.take());
  merge.add(1, stats(0, 2));
  const auto merged = merge.take();

  REQUIRE(merged);
  CHECK(merged->membership_epoch == 3);
  CHECK(merged->first == 0);
  CHECK(merged->count == 2);
  CHECK_FALSE(merge.take());
}

TEST_CASE("workers out of step are put together, each iteration once and in order") {
  IterationMerge merge = merge_of(two_workers(5));
  std::vector<double> losses;
  std::uint64_t next = 5;
  const auto take = [&] {
    while (const auto merged = merge.take()) {
      CHECK(merged->first == next);
      next += merged->count;
      losses.insert(losses.end(), merged->loss.begin(), merged->loss.end());
    }
  };

  for (const std::size_t batch : {1U, 4U, 2U}) {
    merge.add(0, stats(merge.reported(0), batch));
    take();
    merge.add(1, stats(merge.reported(1), 7 - batch));
    take();
  }

  CHECK(next == 12);  // worker 0 has reported 7, worker 1 more
  CHECK(merge.reported(0) == 12);
  CHECK(merge.reported(1) == 19);
  REQUIRE(losses.size() == 7);
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK(losses[i] == Approx(2.0 * (static_cast<double>(5 + i) + 0.1) / 10.0));
}

TEST_CASE("the loss is the mean over the samples of the batch, the time that over the workers") {
  IterationMerge merge = merge_of(two_workers());
  IterationStats first = stats(0, 1), second = stats(0, 1);
  first.loss_sum = {6.0 * 0.5};   // 6 samples of 0.5
  second.loss_sum = {4.0 * 1.0};  // 4 samples of 1
  first.seconds = {0.25};
  second.seconds = {0.75};

  merge.add(0, first);
  merge.add(1, second);
  const auto merged = merge.take();

  CHECK(merged->loss == std::vector<double>{0.7});
  CHECK(merged->seconds == std::vector<double>{0.5});
}

TEST_CASE("each worker's series keep their places") {
  IterationMerge merge = merge_of(two_workers());
  merge.add(0, stats(0, 2));
  merge.add(1, stats(0, 2, 1.0));

  const auto merged = merge.take();

  CHECK(merged->learning_rate == 0.1);
  CHECK(merged->global_sqr_norm == std::vector<double>{0.8, 1.8});
  REQUIRE(merged->workers.size() == 2);
  CHECK(merged->workers[1] ==
        fact::WorkerSeries{
            1, {100.3, 101.3}, {100.4, 101.4}, {100.5, 101.5}, {100.6, 101.6}, {100.7, 101.7}});
}

TEST_CASE("the learning rate is that of the first iteration") {
  IterationMerge merge = merge_of({1, 10, {10}, 0, 0});
  IterationStats early = stats(0, 2), later = stats(2, 2);
  early.learning_rate = 0.4;
  later.learning_rate = 0.2;

  merge.add(0, early);
  merge.add(0, later);

  CHECK(merge.take()->learning_rate == 0.4);
}

TEST_CASE("a gap, a repetition or an unknown worker is refused, and what was there stays") {
  IterationMerge merge = merge_of(two_workers(5));
  merge.add(0, stats(5, 2));

  CHECK_THROWS_AS(merge.add(0, stats(8, 1)), ProtocolError);
  CHECK_THROWS_AS(merge.add(0, stats(6, 1)), ProtocolError);
  CHECK_THROWS_AS(merge.add(1, stats(0, 1)), ProtocolError);
  CHECK_THROWS_AS(merge.add(2, stats(5, 1)), ProtocolError);
  CHECK(merge.reported(0) == 7);
  CHECK(merge.reported(1) == 5);
}

TEST_CASE("iterations that nobody was allowed to do are refused, in this membership and the next") {
  IterationMerge merge({1, 10, {10}, 5, 0});
  CHECK_THROWS_AS(merge.add(0, stats(5, 1)), ProtocolError);
  merge.allow(8);

  CHECK_THROWS_AS(merge.add(0, stats(5, 4)), ProtocolError);
  merge.add(0, stats(5, 1));
  merge.add(0, stats(6, 2));
  CHECK_THROWS_AS(merge.add(0, stats(8, 1)), ProtocolError);
  CHECK(merge.take()->count == 3);
  merge.begin({2, 10, {10}, 6, 10});

  CHECK_THROWS_AS(merge.add(0, stats(6, 1)), ProtocolError);
}

TEST_CASE("series of unequal lengths are refused whole") {
  std::vector<double> IterationStats::*const series[] = {
      &IterationStats::loss_sum,          &IterationStats::seconds,
      &IterationStats::data_wait_seconds, &IterationStats::forward_seconds,
      &IterationStats::backward_seconds,  &IterationStats::sync_wait_seconds,
      &IterationStats::local_sqr_norm,    &IterationStats::global_sqr_norm};
  IterationMerge merge = merge_of({1, 10, {10}, 0, 0});
  for (const auto one : series) {
    IterationStats longer = stats(0, 2);
    (longer.*one).push_back(1.0);

    CHECK_THROWS_AS(merge.add(0, longer), ProtocolError);
  }

  CHECK(merge.reported(0) == 0);
  merge.add(0, stats(0, 1));
  CHECK(merge.take()->global_sqr_norm == std::vector<double>{0.8});
}

TEST_CASE("at the end of a membership, what was done comes out with those who have reported it") {
  IterationMerge merge = merge_of({1, 12, {6, 4, 2}, 5, 0});
  IterationStats first = stats(5, 3), second = stats(5, 1);
  first.loss_sum = {6.0, 12.0, 18.0};
  second.loss_sum = {8.0};
  merge.add(0, first);
  merge.add(1, second);  // worker 2 was lost before it reported anything

  const auto closed = merge.close(10);

  REQUIRE(closed.size() == 3);  // by both, by one, by nobody
  CHECK(closed[0].first == 5);
  CHECK(closed[0].loss == std::vector<double>{1.4});
  CHECK(closed[0].workers.size() == 2);
  CHECK(closed[1].first == 6);
  CHECK(closed[1].loss == std::vector<double>{2.0, 3.0});
  CHECK(closed[1].workers.size() == 1);
  CHECK(closed[2].first == 8);
  CHECK(closed[2].count == 2);
  CHECK(std::isnan(closed[2].loss[0]));
  CHECK(std::isnan(closed[2].seconds[1]));
  CHECK(closed[2].workers.empty());
}

TEST_CASE("what was reported beyond the end of a membership is forgotten, and comes again") {
  IterationMerge merge = merge_of(two_workers());
  merge.add(0, stats(0, 4));
  merge.add(1, stats(0, 4));

  CHECK(merge.most_reported() == 4);
  CHECK(merge.close(3).at(0).count == 3);
  merge.begin({4, 10, {10}, 3, 30});
  merge.allow(4);
  merge.add(0, stats(3, 1));

  const auto merged = merge.take();
  REQUIRE(merged);
  CHECK(merged->first == 3);
  CHECK(merged->membership_epoch == 4);
}

TEST_CASE("a membership of which everything was taken closes with nothing") {
  IterationMerge merge = merge_of(two_workers());
  merge.add(0, stats(0, 2));
  merge.add(1, stats(0, 2));
  merge.take();

  CHECK(merge.close(2).empty());
}

TEST_CASE("half batches come out with their iterations, and those of nobody's iterations never") {
  IterationMerge merge({1, 10, {10}, 0, 0});
  merge.allow(3);
  IterationStats reported = stats(0, 3);
  HalfBatchNorms early, late;
  early.iteration = 1;
  late.iteration = 2;
  early.first_sqr_norm = early.second_sqr_norm = early.whole_sqr_norm = {1.0};
  late.first_sqr_norm = late.second_sqr_norm = late.whole_sqr_norm = {2.0};
  reported.half_batches = {early, late};
  merge.add(0, reported);

  const auto closed = merge.close(2);

  REQUIRE(closed.size() == 1);
  REQUIRE(closed[0].half_batches.size() == 1);
  CHECK(closed[0].half_batches[0].iteration == 1);
  CHECK(closed[0].half_batches[0].whole_sqr_norm == std::vector<double>{1.0});
}
