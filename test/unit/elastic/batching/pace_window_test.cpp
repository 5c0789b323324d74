#include "elastic/batching/pace_window.h"

#include <catch2/catch.hpp>
#include <random>

namespace scavenger::elastic {
namespace {

TEST_CASE("A single pause does not show in the means") {
  PaceWindow window(1);
  for (int i = 0; i < 60; ++i) window.add({i == 57 ? 50.0 : 1.0});
  CHECK(window.means()[0] == Approx(1.0));
}

TEST_CASE("Pauses that come again do: a worker stopped in every fourth iteration is a slow one") {
  PaceWindow window(1);
  for (int i = 0; i < 60; ++i) window.add({i % 4 == 0 ? 13.0 : 1.0});
  CHECK(window.means()[0] == Approx(4.0).epsilon(0.1));
}

TEST_CASE("A change of speed shows in the means, and soon in those of the last iterations") {
  PaceWindow window(2);
  for (int i = 0; i < 100; ++i) window.add({1.0, 2.0});
  const double before = window.relative_error();
  for (int i = 0; i < 10; ++i) window.add({4.0, 2.0});

  CHECK(window.means()[0] > 1.2);
  CHECK(window.means()[1] == Approx(2.0));
  CHECK(window.means(10) == std::vector{4.0, 2.0});
  // It is no noise.
  CHECK(window.relative_error() < before + 0.01);
}

TEST_CASE("The stated error is about that of the means") {
  constexpr double kNoise = 0.1;
  std::mt19937 random(3);
  std::normal_distribution<double> normal(1.0, kNoise);
  double square = 0.0, stated = 0.0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    PaceWindow window(1);
    for (int i = 0; i < 200; ++i) window.add({normal(random)});
    const double error = window.means()[0] - 1.0;
    square += error * error / kRounds;
    stated += window.relative_error() / kRounds;
  }
  CHECK(stated == Approx(std::sqrt(square)).epsilon(0.25));
}

TEST_CASE("With few iterations the error is stated larger") {
  PaceWindow window(1);
  window.add({1.0});
  const double after_one = window.relative_error();
  for (int i = 0; i < 20; ++i) window.add({1.0});
  CHECK(window.relative_error() < 0.1 * after_one);
}

}  // namespace
}  // namespace scavenger::elastic
