#include "runtime/provider/launch_words.h"

#include <catch2/catch.hpp>
#include <exception>
#include <optional>

#include "runtime/process/command.h"

using namespace scavenger;

namespace {

CommandResult run_with(std::vector<std::string> words, const std::vector<std::string>& command) {
  words.insert(words.end(), command.begin(), command.end());
  asio::io_context io;
  std::optional<CommandResult> result;
  asio::co_spawn(io, run_command(std::move(words), "the input", 30.0),
                 [&](const std::exception_ptr&, CommandResult done) { result = std::move(done); });
  io.run();
  return *result;
}

}  // namespace

TEST_CASE("A site's prelude and prefix stand before a command, and leave it its input and words") {
  const auto words = site_words({"WORD='it is'", "export WORD", "cat"}, {"env", "OTHER=set"});
  const CommandResult result =
      run_with(words, {"sh", "-c", "echo \"$WORD $OTHER $1\"; cat", "sh", "two words"});
  CHECK(result.succeeded());
  CHECK(result.output == "it is set two words\nthe input");
}

TEST_CASE("A prelude that fails keeps the command from being run") {
  const CommandResult result = run_with(site_words({"false"}, {}), {"echo", "ran"});
  CHECK_FALSE(result.succeeded());
  CHECK(result.output.find("ran") == std::string::npos);
  CHECK(site_words({}, {}).empty());
}

TEST_CASE("Models in Python have a worker of their own, and a script its words") {
  JobConfig config;
  CHECK(worker_words(config) == std::vector<std::string>{"scavenger-worker"});
  config.model.type = ModelType::kPython;
  config.model.path = "/data/train.py";
  CHECK(worker_words(config) == std::vector<std::string>{"scavenger-python-worker"});
  config.model.has_own_loop = true;
  config.model.arguments = {"--width", "64"};
  config.seed = 7;
  CHECK(worker_words(config) == std::vector<std::string>{"scavenger-python-worker", "script", "7",
                                                         "/data/train.py", "--width", "64"});
}
