#include "elastic/control/share_rule.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "runtime/data/sample_order.h"

namespace scavenger::elastic {
namespace {

using Shares = std::vector<std::uint32_t>;

Shares first_workers(std::uint32_t count) {
  Shares workers(count);
  std::iota(workers.begin(), workers.end(), 0U);
  return workers;
}

ShareRule rule_of(const std::vector<double>& speeds, double overhead_samples = 0.0) {
  ShareRule rule;
  for (std::uint32_t worker = 0; worker < speeds.size(); ++worker)
    rule.speeds[worker] = speeds[worker];
  rule.overhead_samples = overhead_samples;
  return rule;
}

double slowest(const ShareRule& rule, const Shares& shares) {
  double seconds = 0.0;
  for (std::uint32_t worker = 0; worker < shares.size(); ++worker)
    seconds = std::max(seconds, rule.seconds_of(worker, shares[worker]));
  return seconds;
}

// Of all ways to share out `left` samples from worker `next` on.
double least_slowest(const ShareRule& rule, std::uint32_t left, std::uint32_t workers,
                     Shares& shares) {
  if (shares.size() + 1 == workers) {
    const auto worker = static_cast<std::uint32_t>(shares.size());
    if (left < rule.smallest_share || left > rule.largest_share_of(worker)) return INFINITY;
    shares.push_back(left);
    const double seconds = slowest(rule, shares);
    shares.pop_back();
    return seconds;
  }
  double least = INFINITY;
  const auto worker = static_cast<std::uint32_t>(shares.size());
  const std::uint32_t most = std::min(left, rule.largest_share_of(worker));
  for (std::uint32_t share = rule.smallest_share; share <= most; ++share) {
    shares.push_back(share);
    least = std::min(least, least_slowest(rule, left - share, workers, shares));
    shares.pop_back();
  }
  return least;
}

TEST_CASE("Without knowledge of speeds the shares are even") {
  for (const std::uint32_t batch_size : {7U, 64U, 1001U})
    for (const std::uint32_t workers : {1U, 2U, 3U, 7U})
      CHECK(shares_of({}, batch_size, first_workers(workers)) == split_batch(batch_size, workers));
}

TEST_CASE("Shares follow speeds") {
  CHECK(shares_of(rule_of({1.0, 3.0}), 64, first_workers(2)) == Shares{16, 48});
  CHECK(shares_of(rule_of({2.0, 17.0, 20.0}), 390, first_workers(3)) == Shares{20, 170, 200});
  SECTION("with an iteration's fixed work") {
    // (16 + b) / speed is equal.
    CHECK(shares_of(rule_of({1.0, 3.0}, 16.0), 64, first_workers(2)) == Shares{8, 56});
  }
  SECTION("of the workers that are asked for, whatever their ranks") {
    const Shares workers{1, 0};
    CHECK(shares_of(rule_of({1.0, 3.0, 9.0}), 64, workers) == Shares{48, 16});
  }
}

TEST_CASE("A worker of unknown speed counts as the mean of the others") {
  CHECK(shares_of(rule_of({1.0, 3.0}), 60, first_workers(3)) == Shares{10, 30, 20});
}

TEST_CASE("Bounds hold, and the others take the rest") {
  ShareRule rule = rule_of({1.0, 3.0, 4.0});
  rule.largest_shares = {0, 0, 16};
  CHECK(shares_of(rule, 64, first_workers(3)) == Shares{12, 36, 16});
  rule.smallest_share = 15;
  CHECK(shares_of(rule, 64, first_workers(3)) == Shares{15, 33, 16});
  rule.learned_bounds[1] = 30;
  CHECK(shares_of(rule, 64, first_workers(3)) == Shares{18, 30, 16});
}

TEST_CASE("Where bounds leave no room for the batch, it is shared out all the same") {
  ShareRule rule = rule_of({1.0, 3.0});
  rule.largest_shares = {10, 20};
  CHECK(shares_of(rule, 60, first_workers(2)) == Shares{20, 40});
  rule = rule_of({1.0, 3.0});
  rule.smallest_share = 50;
  CHECK(shares_of(rule, 60, first_workers(2)) == Shares{30, 30});
}

TEST_CASE("No other shares within the bounds make the slowest worker faster") {
  std::mt19937 generator(5);
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  std::uniform_real_distribution<double> log_speed(0.0, 3.0);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t workers = 2 + random() % 3;
    const std::uint32_t batch_size = workers * (2 + random() % 6);
    std::vector<double> speeds;
    for (std::uint32_t k = 0; k < workers; ++k) speeds.push_back(std::exp(log_speed(generator)));
    ShareRule rule = rule_of(speeds, round % 2 == 0 ? 0.0 : 3.5);
    rule.smallest_share = 1 + random() % 2;
    for (std::uint32_t k = 0; k < workers; ++k)
      rule.largest_shares.push_back(batch_size / 2 + random() % batch_size);
    CAPTURE(round, speeds, batch_size);

    const Shares shares = shares_of(rule, batch_size, first_workers(workers));

    REQUIRE(std::accumulate(shares.begin(), shares.end(), 0U) == batch_size);
    Shares tried;
    CHECK(slowest(rule, shares) ==
          Approx(least_slowest(rule, batch_size, workers, tried)).epsilon(1e-9));
  }
}

TEST_CASE("Rounding favours no rank") {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> speed(1.0, 4.0);
  constexpr std::uint32_t kWorkers = 5;
  std::vector<double> excess(kWorkers);
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> speeds;
    for (std::uint32_t k = 0; k < kWorkers; ++k) speeds.push_back(speed(random));
    const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    const Shares shares = shares_of(rule_of(speeds), 64, first_workers(kWorkers));
    for (std::uint32_t k = 0; k < kWorkers; ++k)
      excess[k] += (shares[k] - 64.0 * speeds[k] / sum) / kRounds;
  }
  // Rounding scatters by 0.3 samples or so: its mean over the rounds by 0.005.
  for (const double mean : excess) CHECK(std::abs(mean) < 0.02);
}

TEST_CASE("A pinned worker has its share, and the others share the rest by their speeds") {
  ShareRule rule = rule_of({1.0, 3.0, 1.0});
  rule.pinned = {{2, 8}};
  CHECK(shares_of(rule, 40, first_workers(3)) == Shares{8, 24, 8});
  rule.smallest_share = 30;  // there is no room for it
  CHECK(shares_of(rule, 40, first_workers(3)) == Shares{16, 16, 8});
}

TEST_CASE("No pin takes the last sample of another, and not all can be pinned") {
  ShareRule rule = rule_of({1.0, 1.0, 1.0});
  rule.pinned = {{0, 98}};
  CHECK(shares_of(rule, 100, first_workers(3)) == Shares{98, 1, 1});
  rule.pinned = {{0, 99}};
  CHECK(shares_of(rule, 100, first_workers(3)) == Shares{34, 33, 33});
  rule.pinned = {{0, 10}, {1, 10}, {2, 10}};
  CHECK(shares_of(rule, 100, first_workers(3)) == Shares{10, 10, 80});
  rule.pinned = {{0, 10}};
  CHECK(shares_of(rule, 100, first_workers(1)) == Shares{100});
}

TEST_CASE("Pins of any kind leave shares that sum to the batch") {
  std::mt19937 random(5);
  const auto pick = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t count = 1 + pick(5), batch = count + pick(60);
    ShareRule rule;
    rule.smallest_share = 1 + pick(20);
    if (pick(2) == 0) rule.largest_shares = {1 + pick(20)};
    for (std::uint32_t worker = 0; worker < count; ++worker) {
      rule.speeds[worker] = 0.1 + pick(100);
      if (pick(2) == 0) rule.pinned[worker] = 1 + pick(30);
    }
    const Shares shares = shares_of(rule, batch, first_workers(count));
    CHECK(std::accumulate(shares.begin(), shares.end(), 0U) == batch);
    CHECK(*std::ranges::min_element(shares) >= 1);
  }
}

}  // namespace
}  // namespace scavenger::elastic
