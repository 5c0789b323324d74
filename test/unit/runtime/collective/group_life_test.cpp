#include "runtime/collective/group_life.h"

#include <catch2/catch.hpp>

using namespace scavenger;
using Stage = GroupLife::Stage;

namespace {

constexpr GroupLimits kLimits{.connect_seconds = 20, .operation_seconds = 60, .end_seconds = 10};

struct Connected {
  Connected() {
    attempt = *life.begin_connecting(0);
    REQUIRE(life.connected(attempt, 1));
  }
  GroupLife life{kLimits};
  std::uint64_t attempt = 0;
};

}  // namespace

TEST_CASE("an idle connection is finalised, one with operations is aborted, each once") {
  for (const bool is_idle : {true, false}) {
    Connected c;
    if (!is_idle) REQUIRE(c.life.begin_operation(1));
    c.life.leave(2);
    CHECK(c.life.stage() == Stage::kEnding);
    CHECK(c.life.take_end(2) == (is_idle ? LinkEnd::kFinalise : LinkEnd::kAbort));
    CHECK(c.life.take_end(2) == std::nullopt);
    c.life.ended();
    CHECK(c.life.stage() == Stage::kNone);
    CHECK(c.life.problem().empty());
  }
}

TEST_CASE("an interruption aborts operations, spares an idle connection, and holds") {
  Connected busy;
  REQUIRE(busy.life.begin_operation(1));
  busy.life.interrupt(2);
  CHECK_FALSE(busy.life.operates());
  CHECK(busy.life.take_end(2) == LinkEnd::kAbort);

  Connected idle;
  idle.life.interrupt(2);
  CHECK(idle.life.operates());
  CHECK_FALSE(idle.life.begin_operation(3));
  CHECK_FALSE(idle.life.release_idle());
  idle.life.allow();
  CHECK(idle.life.release_idle());
  CHECK(idle.life.stage() == Stage::kNone);

  GroupLife none(kLimits);
  none.interrupt(0);
  CHECK(none.begin_connecting(1) == std::nullopt);
}

TEST_CASE("what an abandoned attempt brings is refused") {
  GroupLife life(kLimits);
  const auto first = *life.begin_connecting(0);
  life.interrupt(1);
  life.allow();
  CHECK_FALSE(life.wants(first));
  CHECK_FALSE(life.connected(first, 2));
  const auto second = *life.begin_connecting(2);
  life.connecting_failed(first, "late news");
  CHECK(life.wants(second));
  CHECK_FALSE(life.connected(first, 3));
  CHECK(life.connected(second, 3));
}

TEST_CASE("everything has a limit, which progress of operations moves") {
  GroupLife life(kLimits);
  const auto attempt = *life.begin_connecting(0);
  life.check(20);
  CHECK(life.wants(attempt));
  life.check(20.5);
  CHECK_FALSE(life.wants(attempt));
  CHECK(life.problem() == "connecting took more than 20 s");

  Connected c;
  c.life.check(1000);  // idle as long as it likes
  CHECK(c.life.operates());
  REQUIRE(c.life.begin_operation(1000));
  REQUIRE(c.life.begin_operation(1050));
  c.life.complete_operation(1059);
  c.life.check(1118);
  CHECK(c.life.operates());
  c.life.check(1120);
  CHECK(c.life.problem() == "an operation took more than 60 s");
  CHECK(c.life.take_end(1120) == LinkEnd::kAbort);
  c.life.check(1129);
  CHECK(c.life.stage() == Stage::kEnding);
  c.life.check(1131);
  CHECK(c.life.stage() == Stage::kStuck);
  c.life.ended();  // after all
  CHECK(c.life.stage() == Stage::kNone);
}

TEST_CASE("a failure that is told twice, or late, changes nothing") {
  Connected c;
  c.life.failed("the first", 2);
  c.life.failed("the second", 3);
  c.life.complete_operation(3);
  CHECK(c.life.problem() == "the first");
  REQUIRE(c.life.take_end(3) == LinkEnd::kAbort);
  c.life.leave(4);
  c.life.interrupt(4);
  CHECK(c.life.take_end(4) == std::nullopt);
  c.life.ended();
  c.life.failed("the third", 5);
  CHECK(c.life.problem() == "the first");
}
