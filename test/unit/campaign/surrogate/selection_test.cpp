#include "campaign/surrogate/selection.h"

#include <catch2/catch.hpp>

namespace scavenger::surrogate {
namespace {

using Points = std::vector<std::vector<double>>;
const Points kLine{{-1.0}, {-0.5}, {0.0}, {0.5}, {1.0}};

}  // namespace

TEST_CASE("the most uncertain point is next, and then one that is not beside it") {
  const std::vector<double> variances{1.0, 8.0, 9.0, 8.0, 2.0};
  CHECK(most_uncertain(kLine, variances, {}, 4, 1) == std::vector<std::size_t>{2});
  const auto three = most_uncertain(kLine, variances, {}, 4, 3);
  REQUIRE(three.size() == 3);
  CHECK(three[0] == 2);
  CHECK(three[1] == 1);
  CHECK(three[2] == 3);
  // Neighbours of a point that is being simulated wait for its result.
  CHECK(most_uncertain(kLine, variances, {{0.0}}, 2, 1) != std::vector<std::size_t>{2});
  CHECK(most_uncertain(kLine, {variances.begin(), variances.end()}, {{0.0}, {-0.5}}, 2, 1) ==
        std::vector<std::size_t>{3});
}

TEST_CASE("a parameter that has one value does not change what is chosen") {
  Points line, plane;
  std::vector<double> variances;
  for (int i = 0; i < 20; ++i) {
    line.push_back({i / 9.5 - 1.0});
    plane.push_back({i / 9.5 - 1.0, 0.0});
    variances.push_back(1.0 + 0.1 * (i % 7));
  }
  CHECK(most_uncertain(line, variances, {}, 8, 6) == most_uncertain(plane, variances, {}, 8, 6));
}

TEST_CASE("each point is chosen once, and no more than there are") {
  const std::vector<double> variances(5, 0.0);  // all damped to nothing
  CHECK(most_uncertain(kLine, variances, {}, 0, 9) == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(most_uncertain({}, {}, {}, 3, 2).empty());
  CHECK(space_filling(kLine, {}, 1, 9).size() == 5);
  CHECK(space_filling({}, {}, 1, 2).empty());
}

TEST_CASE("what dominates by its statistical error is simulated for longer") {
  using Indices = std::vector<std::size_t>;
  const std::vector<double> variances{1.0, 1.0, 1.0, 5.0};
  const std::vector<double> statistical{0.9, 3.0, 4.0, 4.9};
  CHECK(worth_lengthening(statistical, variances, 0.5) == Indices{2, 1});
  CHECK(worth_lengthening(statistical, variances, 1.5) == Indices{2});
  CHECK(worth_lengthening(statistical, variances, 2.0).empty());
  CHECK(worth_lengthening({}, {}, 0.0).empty());
}

TEST_CASE("space-filling takes the farthest point") {
  CHECK(space_filling(kLine, {{-1.0}}, 1, 2) == std::vector<std::size_t>{4, 2});
  CHECK(space_filling(kLine, {}, 7, 3) == space_filling(kLine, {}, 7, 3));
}

}  // namespace scavenger::surrogate
