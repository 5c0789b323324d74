#include "kubernetes/api/object_watch.h"

#include <catch2/catch.hpp>

namespace scavenger::kubernetes {

TEST_CASE("object_watch: lines are cut from pieces of any size") {
  const std::string text = "{\"a\": 1}\n\n{\"b\": \"x\\ny\"}\n{\"c\"";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    JsonLines lines;
    std::vector<json> taken;
    for (std::size_t i = 0; i < text.size(); i += size)
      CHECK(lines.feed(std::string_view(text).substr(i, size),
                       [&](const json& line) { taken.push_back(line); }));
    REQUIRE(taken.size() == 2);
    CHECK(taken[1]["b"] == "x\ny");
  }
}

TEST_CASE("object_watch: after a line that is no object nothing is taken") {
  JsonLines lines;
  int taken = 0;
  const auto count = [&](const json&) { ++taken; };
  CHECK_FALSE(lines.feed("{\"a\": 1}\n[1]\n{\"b\": 2}\n", count));
  CHECK_FALSE(lines.feed("{\"c\": 1}\n", count));
  CHECK(taken == 1);
}

}  // namespace scavenger::kubernetes
