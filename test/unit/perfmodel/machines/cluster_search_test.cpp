#include "perfmodel/machines/cluster_search.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

// Clusters of 1, 2, 4, ... 64 VMs.
std::vector<ClusterPlace> line() {
  std::vector<ClusterPlace> places;
  for (int i = 0; i < 7; ++i) places.push_back({{i * std::log(2.0)}, i * std::log(2.0)});
  return places;
}

// A job that is cheapest at one place, and dearer away from it.
std::vector<std::optional<double>> job(int cheapest) {
  std::vector<std::optional<double>> costs;
  for (int i = 0; i < 7; ++i) costs.emplace_back(0.3 * std::abs(i - cheapest));
  return costs;
}

TEST_CASE("The first run is that of the cluster that was best on average") {
  const ClusterSearch search(line(), {job(1), job(2), job(3)});
  CHECK(search.next(std::vector<bool>(7, true))->place == 2);
  std::vector<bool> without(7, true);
  without[2] = false;
  CHECK(search.next(without)->place != 2);
  CHECK(!search.next(std::vector<bool>(7, false)));
}

TEST_CASE("Runs that get cheaper with memory lead to the cluster that holds the data") {
  // Below 32 VMs this job costs three times as much; no earlier job has shown such a thing.
  ClusterSearch search(line(), {job(1), job(2), job(1)});
  const auto cost = [](std::size_t place) {
    return place < 5 ? 1.1 + 0.02 * (5.0 - static_cast<double>(place)) : 0.0;
  };
  double best = 10.0;
  for (int run = 0; run < 6; ++run) {
    const auto next = search.next(std::vector<bool>(7, true));
    REQUIRE(next);
    search.add(next->place, cost(next->place));
    best = std::min(best, cost(next->place));
  }
  CHECK(best == 0.0);
}

TEST_CASE("What was run is not run again, and little is expected once all is known") {
  ClusterSearch search(line(), {job(2), job(2)});
  std::vector<bool> seen(7, false);
  for (int run = 0; run < 6; ++run) {
    const auto next = search.next(std::vector<bool>(7, true));
    REQUIRE(next);
    CHECK(!seen[next->place]);
    seen[next->place] = true;
    search.add(next->place, *job(2)[next->place]);
  }
  CHECK(search.next(std::vector<bool>(7, true))->gain < 0.05);
}

TEST_CASE("A job that surprises the search is searched for longer") {
  // Both jobs cost what the earlier jobs' costs say, but one is much dearer on the largest cluster.
  const auto gain_after = [](double largest) {
    ClusterSearch search(line(), {job(2), job(2)});
    search.add(2, 0.0);
    search.add(1, 0.3);
    search.add(3, 0.3);
    search.add(6, largest);
    return search.next(std::vector<bool>(7, true))->gain;
  };
  CHECK(gain_after(1.2) < 0.001);
  CHECK(gain_after(1.2 + std::log(8.0)) > 0.005);
}

TEST_CASE("The currency in which runs are paid does not matter") {
  const auto after = [](double unit) {
    ClusterSearch search(line(), {job(2), job(4)});
    search.add(3, 0.2 + std::log(unit));
    search.add(1, 0.9 + std::log(unit));
    return *search.next(std::vector<bool>(7, true));
  };
  const ClusterSearch::Next in_dollars = after(1.0), in_cents = after(100.0);
  CHECK(in_dollars.place == in_cents.place);
  CHECK(std::abs(in_dollars.gain / in_cents.gain - 1.0) < 0.05);
}

TEST_CASE("Without an earlier job nothing can be said") {
  CHECK_THROWS_AS(ClusterSearch(line(), {}), DataError);
  CHECK_THROWS_AS(ClusterSearch(line(), {{0.1, 0.2}}), DataError);
}

}  // namespace
}  // namespace scavenger::perfmodel
