#include "perfmodel/plan/knee.h"

#include <catch2/catch.hpp>

namespace scavenger::perfmodel {
namespace {

struct Vector {
  const char* name;
  std::vector<double> x, y;
  Curvature curvature;
  Direction direction;
  double sensitivity;
  std::optional<std::size_t> knee;  // index
};

std::vector<double> up_to(std::size_t count, double step = 1.0) {
  std::vector<double> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<double>(i) * step);
  return x;
}

// kneed's own test data (BSD-3-Clause, Copyright (c) 2017 Kevin Arvai), as kneed 0.8.6 answers.
std::vector<Vector> kneed_vectors() {
  const std::vector<double> flat_maxima{1,
                                        0.787701317715959,
                                        0.7437774524158126,
                                        0.6559297218155198,
                                        0.5065885797950219,
                                        0.36749633967789164,
                                        0.2547584187408492,
                                        0.16251830161054173,
                                        0.10395314787701318,
                                        0.06734992679355783,
                                        0.043923865300146414,
                                        0.027818448023426062,
                                        0.01903367496339678,
                                        0.013177159590043924,
                                        0.010248901903367497,
                                        0.007320644216691069,
                                        0.005856515373352855,
                                        0.004392386530014641};
  std::vector<double> figure2;
  for (const double x : up_to(10, 1.0 / 9)) figure2.push_back(5 - 1 / (x + 0.1));
  using enum Curvature;
  using enum Direction;
  return {
      {"figure 2", up_to(10, 1.0 / 9), figure2, kConcave, kIncreasing, 1, 2},
      {"convex decreasing",
       up_to(10),
       {100, 40, 20, 15, 10, 5, 4, 3, 2, 1},
       kConvex,
       kDecreasing,
       1,
       2},
      {"convex increasing",
       up_to(10),
       {1, 2, 3, 4, 5, 10, 15, 20, 40, 100},
       kConvex,
       kIncreasing,
       1,
       7},
      {"concave increasing",
       up_to(10),
       {0, 60, 80, 85, 90, 95, 96, 97, 98, 99},
       kConcave,
       kIncreasing,
       1,
       2},
      {"concave decreasing",
       up_to(10),
       {99, 98, 97, 96, 95, 90, 85, 80, 60, 0},
       kConcave,
       kDecreasing,
       1,
       7},
      {"flat maxima, S = 0", up_to(18), flat_maxima, kConvex, kDecreasing, 0, 1},
      {"flat maxima, S = 1", up_to(18), flat_maxima, kConvex, kDecreasing, 1, 8},
      {"truncated", up_to(7, 0.1), {10, 4, 2, 1.5, 1, 0.5, 0.4}, kConvex, kDecreasing, 1, 2},
      {"no knee",
       {1, 2, 3},
       {0.90483742, 0.81873075, 0.74081822},
       kConvex,
       kDecreasing,
       1,
       std::nullopt},
  };
}

}  // namespace

TEST_CASE("Kneedle answers kneed's test vectors as kneed does") {
  for (const Vector& v : kneed_vectors()) {
    CAPTURE(v.name);
    CHECK(kneedle(v.x, v.y, v.curvature, v.direction, v.sensitivity) == v.knee);
  }
}

TEST_CASE("The paper's two knees are found, for every sensitivity from 0 to 1") {
  const std::vector<double> time384{6.8, 7.344, 9.1747, 12.4},
      cost384{18.226, 15.747, 14.754, 13.294};
  const std::vector<double> time512{6.13, 6.6, 7.693, 10.513},
      cost512{16.43, 14.152, 12.371, 11.271};
  for (const double s : {0.0, 0.5, 1.0}) {
    CHECK(kneedle(time384, cost384, Curvature::kConvex, Direction::kDecreasing, s) == 1);  // K = 16
    CHECK(kneedle(time512, cost512, Curvature::kConvex, Direction::kDecreasing, s) == 2);  // K = 12
  }
}

TEST_CASE("Flat, straight and short curves have no knee") {
  const std::vector<double> x{1, 2, 3, 4};
  CHECK_FALSE(cost_time_knee(x, std::vector<double>{5, 5, 5, 5}));
  CHECK_FALSE(cost_time_knee(x, std::vector<double>{8, 6, 4, 2}));
  CHECK_FALSE(cost_time_knee(std::vector<double>{1, 2, 3}, std::vector<double>{9, 2, 1}));
}

TEST_CASE("A concave curve has no knee, a convex one does") {
  const std::vector<double> time{1, 2, 3, 4}, cost{10, 9.5, 9, 1};
  CHECK_FALSE(cost_time_knee(time, cost));

  const auto knee = cost_time_knee(time, std::vector<double>{10, 4, 2, 1});

  REQUIRE(knee);
  CHECK(knee->index == 1);
}

TEST_CASE("Where the errors leave several points as the knee, the smallest time x cost is taken") {
  const std::vector<double> time{1.0, 1.5, 2.2, 4.0}, cost{10.0, 7.0, 5.0, 4.0};
  const auto knee = cost_time_knee(time, cost);
  REQUIRE(knee);
  CHECK(knee->index == 2);
  CHECK(cost_time_knee(time, cost, std::vector<double>(4, 0.001))->index == 2);
  CHECK(cost_time_knee(time, cost, std::vector<double>(4, 0.001))->was_certain);

  const auto doubtful = cost_time_knee(time, cost, std::vector<double>(4, 0.2));
  CHECK(doubtful->index == 1);  // 10.5, not 11
  CHECK_FALSE(doubtful->was_certain);
}

}  // namespace scavenger::perfmodel
