#include "elastic/plan/lemon.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "runtime/base/random.h"

namespace scavenger::elastic {
namespace {

constexpr double kBetweenVms = 0.03;

// Seconds of a worker that is `slowdown` times as slow as usual, of which 0.01 s are there for any
// share.
WorkerTime time_of(std::uint32_t worker, double share, double slowdown) {
  return {worker, share, slowdown * (0.01 + 0.001 * share), 1e-4};
}

TEST_CASE("A machine that is a third slower with the same share is a lemon") {
  const std::vector<WorkerTime> times = {time_of(0, 32, 1.0), time_of(1, 32, 1.35),
                                         time_of(2, 32, 1.02), time_of(3, 32, 0.98)};
  const auto lemon = find_lemon(times, kBetweenVms);
  REQUIRE(lemon);
  CHECK(lemon->worker == 1);
  CHECK(lemon->slowdown == Approx(1.35).epsilon(0.05));
}

TEST_CASE("Of two, too, the slower one is it") {
  const auto lemon = find_lemon(std::vector{time_of(4, 32, 1.3), time_of(7, 32, 1.0)}, kBetweenVms);
  REQUIRE(lemon);
  CHECK(lemon->worker == 4);
}

TEST_CASE("A lone worker is beside nobody, and without times there is nothing to say") {
  CHECK(!find_lemon(std::vector{time_of(0, 32, 2.0), time_of(0, 16, 2.0)}, kBetweenVms));
  CHECK(!find_lemon({}, kBetweenVms));
}

TEST_CASE("With shares by speed, machines that take equally long may all be well") {
  // Nobody knows yet whether fewer samples take less time.
  const std::vector<WorkerTime> once = {time_of(0, 40, 1.0), time_of(1, 24, 1.0)};
  CHECK(!find_lemon(once, kBetweenVms));
  const WorkerTime slow{1, 24.0, 0.05, 1e-4};  // 50 ms as worker 0 has for 40
  CHECK(!find_lemon(std::vector{time_of(0, 40, 1.0), slow}, kBetweenVms));
  // Another share of the first worker says how seconds depend on it.
  const auto lemon =
      find_lemon(std::vector{time_of(0, 40, 1.0), time_of(0, 20, 1.0), slow}, kBetweenVms);
  REQUIRE(lemon);
  CHECK(lemon->worker == 1);
  CHECK(lemon->slowdown == Approx(0.05 / 0.034).epsilon(0.06));
}

TEST_CASE("A machine with larger shares is no lemon where seconds grow faster than the share") {
  // Measured on three alike machines of a tenth of a core, which compute a small share at full
  // speed before they are held back.
  std::vector<WorkerTime> times = {
      {0, 2048, 0.0376, 0.0007}, {0, 1007, 0.0136, 0.0010}, {0, 540, 0.0042, 0.0004},
      {0, 972, 0.0128, 0.0007},  {1, 506, 0.0043, 0.0005},  {1, 506, 0.0031, 0.0003},
      {2, 535, 0.0039, 0.0004},  {2, 1002, 0.0129, 0.0008}, {2, 570, 0.0039, 0.0003}};
  CHECK(!find_lemon(times, kBetweenVms));
  // Four times as slow as that law says it is one.
  for (WorkerTime& time : times)
    if (time.worker == 1) time.seconds *= 4.0;
  const auto lemon = find_lemon(times, kBetweenVms);
  REQUIRE(lemon);
  CHECK(lemon->worker == 1);
}

TEST_CASE("Where all machines differ by much the slowest is no lemon") {
  const std::vector<WorkerTime> times = {time_of(0, 32, 0.8), time_of(1, 32, 1.0),
                                         time_of(2, 32, 1.3), time_of(3, 32, 1.5)};
  CHECK(!find_lemon(times, kBetweenVms));
}

TEST_CASE("Two lemons do not hide each other") {
  const std::vector<WorkerTime> times = {time_of(0, 32, 1.0), time_of(1, 32, 1.4),
                                         time_of(2, 32, 1.0), time_of(3, 32, 1.5),
                                         time_of(4, 32, 1.02)};
  const auto lemon = find_lemon(times, kBetweenVms);
  REQUIRE(lemon);
  CHECK(lemon->worker == 3);
}

TEST_CASE("Among machines that differ as usual there is hardly ever a lemon") {
  RandomStream random(3, "lemons", {});
  int found = 0;
  constexpr int kClusters = 500;
  for (int cluster = 0; cluster < kClusters; ++cluster) {
    std::vector<WorkerTime> times;
    for (std::uint32_t worker = 0; worker < 8; ++worker) {
      const double slowdown = std::exp(kBetweenVms * random.normal());
      for (const double share : {32.0, 32.0 / slowdown})
        times.push_back(time_of(worker, share, slowdown * std::exp(0.01 * random.normal())));
    }
    found += find_lemon(times, kBetweenVms) ? 1 : 0;
  }
  CHECK(found <= kClusters / 100);
}

TEST_CASE("Times that are not known well do not make a lemon") {
  std::vector<WorkerTime> times = {time_of(0, 32, 1.0), time_of(1, 32, 1.25)};
  REQUIRE(find_lemon(times, kBetweenVms));
  times[1].standard_error = 0.1 * times[1].seconds;
  CHECK(!find_lemon(times, kBetweenVms));
}

}  // namespace
}  // namespace scavenger::elastic
