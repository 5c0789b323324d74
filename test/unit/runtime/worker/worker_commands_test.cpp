#include "runtime/worker/worker_commands.h"

#include <catch2/catch.hpp>
#include <thread>

#include "runtime/base/error.h"
#include "test/unit/runtime/worker/quadratic_job.h"

using namespace scavenger;

TEST_CASE("iterations below the grant may be done, and none before there is one") {
  WorkerCommands commands;
  CHECK_FALSE(commands.granted(0));

  commands.put(Train{5});

  CHECK(commands.granted(4));
  CHECK_FALSE(commands.granted(5));
  CHECK_FALSE(commands.next(4));  // nothing to answer: train
}

TEST_CASE("a grant only grows") {
  WorkerCommands commands;
  commands.put(Train{5});

  commands.put(Train{3});

  CHECK(commands.granted(4));
}

TEST_CASE("requests come in order, and before any more training") {
  WorkerCommands commands;
  commands.put(Train{100});
  commands.put(SendBuffers{});
  commands.put(Stop{});

  CHECK(std::holds_alternative<SendBuffers>(*commands.next(0)));
  CHECK(std::holds_alternative<Stop>(*commands.next(0)));
  CHECK_FALSE(commands.next(0));
}

TEST_CASE("a grant is not what somebody waits for who waits for a message") {
  WorkerCommands commands;
  commands.put(Train{UINT64_MAX});
  commands.put(Stop{});

  CHECK(std::holds_alternative<Stop>(commands.wait()));
}

TEST_CASE("a worker at the end of its grant sleeps until there is more, or a request") {
  WorkerCommands commands;
  commands.put(Train{1});
  std::thread controller([&commands] {
    commands.put(Train{2});
    commands.put(Stop{});
  });

  ControlMessage last = commands.wait();
  controller.join();

  CHECK(std::holds_alternative<Stop>(last));
  CHECK(commands.granted(1));
}

TEST_CASE("a lost controller wakes a worker that waits, with what was wrong") {
  WorkerCommands commands;
  std::thread reader([&commands] {
    commands.fail(
        std::make_exception_ptr(ConnectionError({.what = "gone", .where = {}, .remedy = {}})));
  });

  CHECK_THROWS_WITH(commands.next(7), Catch::Contains("gone"));
  reader.join();
  CHECK_THROWS_AS(commands.wait(), ConnectionError);
}

TEST_CASE("a halt interrupts what is under way at once, a configuration allows it again") {
  WorkerCommands commands;
  LocalSynchroniser synchroniser;
  commands.steer(&synchroniser);
  synchroniser.break_connection();
  REQUIRE(synchroniser.problem() == "shard 0 is gone");

  commands.put(Halt{});

  CHECK(synchroniser.problem().empty());  // interrupted, which is no problem
  CHECK(commands.interrupted());
  CHECK(std::holds_alternative<Halt>(commands.wait()));
  CHECK_FALSE(commands.interrupted());
  commands.put(ConfigureWorker{});
  CHECK(synchroniser.join({}, {}));
}

TEST_CASE("a synchroniser that comes after a halt is interrupted, too") {
  WorkerCommands commands;
  commands.put(Halt{});
  LocalSynchroniser synchroniser;

  commands.steer(&synchroniser);

  CHECK_FALSE(synchroniser.join({}, {}));
}

TEST_CASE("a halt takes back what was granted before, not what is granted after") {
  WorkerCommands commands;
  commands.put(Train{50});

  commands.put(Halt{});
  CHECK_FALSE(commands.granted(0));

  commands.put(Train{7});
  CHECK(commands.granted(6));
  CHECK_FALSE(commands.granted(7));
}

TEST_CASE("pieces of state are handed over where they were announced, and dropped anywhere else") {
  WorkerCommands commands;
  const auto piece = [](std::uint32_t epoch, std::uint32_t chunk) {
    return StatePiece{epoch, 0, chunk, {}};
  };
  ConfigureWorker configure;
  configure.group.membership = {2, 1, {1}, 0, 0};
  configure.state_pieces = 2;
  commands.put_state(piece(2, 0));
  commands.put(configure);
  commands.put_state(piece(1, 1));
  for (std::uint32_t chunk = 2; chunk < 5; ++chunk) commands.put_state(piece(2, chunk));
  commands.wait();

  CHECK(commands.wait_for_state()->chunk == 2);
  CHECK(commands.wait_for_state()->chunk == 3);

  commands.put(Halt{});
  commands.put_state(piece(2, 5));
  CHECK_FALSE(commands.wait_for_state());
}

TEST_CASE("who waits for state is woken by a halt") {
  WorkerCommands commands;
  ConfigureWorker configure;
  configure.state_pieces = 1;
  commands.put(configure);
  std::thread controller([&commands] { commands.put(Halt{}); });

  CHECK_FALSE(commands.wait_for_state());
  controller.join();
}
