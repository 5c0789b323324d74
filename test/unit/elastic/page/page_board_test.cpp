#include "elastic/page/page_board.h"

#include <catch2/catch.hpp>

namespace scavenger::elastic {

TEST_CASE("Whoever looks gets what has changed since, and at first everything") {
  PageBoard board;
  CHECK(board.version() == 0);
  board.post({{"a", "1"}, {"b", "2"}});
  const std::uint64_t first = board.version();
  board.post({{"a", "1"}, {"b", "3"}});

  CHECK(board.changes_since(0) == R"({"a":1,"b":3})");
  CHECK(board.changes_since(first) == R"({"b":3})");
  CHECK(board.changes_since(board.version()) == "{}");
}

TEST_CASE("What has not changed is no news") {
  PageBoard board;
  board.post({{"a", "1"}});
  const std::uint64_t version = board.version();
  board.post({{"a", "1"}});

  CHECK(board.version() == version);
}

TEST_CASE("Whoever was away for long gets the newest state alone") {
  PageBoard board;
  for (int i = 0; i < 100; ++i) board.post({{"a", std::to_string(i)}});

  CHECK(board.changes_since(1) == R"({"a":99})");
}

}  // namespace scavenger::elastic
