#include "runtime/process/command.h"

#include <catch2/catch.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

using namespace scavenger;

namespace {

CommandResult run(std::vector<std::string> words, std::string input = {},
                  double limit_seconds = 60.0) {
  asio::io_context io;
  std::optional<CommandResult> result;
  std::exception_ptr failure;
  asio::co_spawn(io, run_command(std::move(words), std::move(input), limit_seconds),
                 [&](std::exception_ptr error, CommandResult done) {
                   failure = std::move(error);
                   result = std::move(done);
                 });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return *result;
}

}  // namespace

TEST_CASE("A command reads what it is given, and what it says on both streams comes back") {
  const CommandResult result =
      run({"sh", "-c", "cat; echo trouble >&2; exit 3"}, "first\nsecond\n");

  CHECK(result.output == "first\nsecond\ntrouble\n");
  CHECK(result.status.code == 3);
  CHECK_FALSE(result.succeeded());
  CHECK(result.failure() == "exit code 3: trouble");
}

TEST_CASE("A command that says nothing and succeeds has succeeded") {
  CHECK(run({"true"}).succeeded());
}

TEST_CASE("A command that takes too long is killed") {
  const CommandResult result = run({"sh", "-c", "echo begun; exec sleep 1000"}, "", 0.3);

  CHECK(result.is_late);
  CHECK(result.status.signal == 9);
  CHECK(result.failure() == "it took too long: begun");
}

TEST_CASE("A program that is not there is an error") {
  CHECK_THROWS_AS(run({"/no/such/program"}), SystemError);
}

TEST_CASE("A command ends with whoever waits for it") {
  asio::io_context io;
  asio::co_spawn(io, run_command({"sleep", "1000"}, "", 1000.0),
                 [](const std::exception_ptr&, const CommandResult&) {});
  io.run_one();  // and its context goes, without hanging here for 1000 seconds
}

TEST_CASE("A quoted word is one word, and the same, whatever it holds") {
  for (const std::string word : {"plain", "two words", "it's", "$HOME `id` \"x\" \\", "", "'"})
    CHECK(run({"sh", "-c", "printf %s " + shell_quoted(word)}).output == word);
}

TEST_CASE("A process that is started where another one has just ended is not taken for it") {
  // Their handles have the same number, and the event loop may still hold the first one's news.
  asio::io_context io;
  int ended = 0;
  std::unique_ptr<ChildProcess> next;
  const ChildProcess::Command lasting{
      .program = "sleep", .arguments = {"1000"}, .standard_input = {}, .log = "/dev/null"};
  const auto run_then_start = [&]() -> awaitable<void> {
    std::vector<std::string> words = {"true"};
    co_await run_command(std::move(words), std::string(), 60.0);
    next = std::make_unique<ChildProcess>(io, lasting, [&](const ExitStatus&) { ++ended; });
  };
  for (int i = 0; i < 20; ++i) {
    asio::co_spawn(io, run_then_start(), asio::detached);
    for (int turn = 0; turn < 1000 && !next; ++turn) io.run_one();
    io.poll();  // where it hung
    CHECK(next->running());
    CHECK(ended == i);
    next->signal(9);
    while (ended == i) io.run_one();
    next.reset();
    io.restart();
  }
}
