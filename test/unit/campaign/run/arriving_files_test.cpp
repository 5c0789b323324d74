#include "campaign/run/arriving_files.h"

#include <catch2/catch.hpp>
#include <string>

#include "runtime/base/error.h"
#include "test/unit/campaign/task/announced_file.h"

namespace scavenger::campaign {
TEST_CASE("Files come in pieces, and an empty one in none") {
  ArrivingFiles arriving;
  message::PutFile state = announced("state", "abcdef");
  state.is_checkpoint = true;
  arriving.begin(state);
  arriving.add("abc");
  arriving.add("def");
  arriving.begin(announced("empty", ""));

  const std::vector<TaskFile> files = arriving.take();
  REQUIRE(files.size() == 2);
  CHECK(files[0].name == "state");
  CHECK(files[0].content == "abcdef");
  CHECK(files[0].is_checkpoint);
  CHECK(files[1].content.empty());
  CHECK_FALSE(files[1].is_checkpoint);
  CHECK(arriving.take().empty());
}

TEST_CASE("A file that is not as announced is refused") {
  ArrivingFiles arriving;
  CHECK_THROWS_AS(arriving.add("abc"), ProtocolError);
  arriving.begin(announced("a", "abc"));
  SECTION("too long") {
    CHECK_THROWS_AS(arriving.add("abcd"), ProtocolError);
  }
  SECTION("other content") {
    CHECK_THROWS_AS(arriving.add("abd"), ProtocolError);
  }
  SECTION("another file before it is whole") {
    arriving.add("ab");
    CHECK_THROWS_AS(arriving.begin(announced("b", "b")), ProtocolError);
  }
  SECTION("the end before it is whole") {
    arriving.add("ab");
    CHECK_THROWS_AS(arriving.take(), ProtocolError);
  }
}

TEST_CASE("A segment has no more bytes than a checkpoint and a result may have") {
  ArrivingFiles arriving;
  message::PutFile large = announced("large", "x");
  large.bytes = 2 * kMostFileBytes + 1;
  CHECK_THROWS_AS(arriving.begin(large), ProtocolError);
}

}  // namespace scavenger::campaign
