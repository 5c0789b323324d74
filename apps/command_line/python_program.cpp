#include "apps/command_line/python_program.h"

#include <fmt/format.h>

#include <iostream>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/net/spawn.h"

namespace scavenger {
namespace {

// Python may read its modules from a slow disk, and a data set may index its files.
constexpr double kLimitSeconds = 600.0;

}  // namespace

CommandResult ask_python(const std::filesystem::path& program_folder, const std::string& word,
                         std::string input) {
  asio::io_context io;
  CommandResult result;
  std::exception_ptr failure;
  const auto run = [&]() -> awaitable<void> {
    std::vector<std::string> words = {(program_folder / "scavenger-python-worker").string(), word};
    result = co_await run_command(std::move(words), std::move(input), kLimitSeconds);
  };
  asio::co_spawn(io, run(), [&](std::exception_ptr error) { failure = std::move(error); });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return result;
}

// The user sees Python's own words first. The last line says what was wrong.
void throw_python_failure(const CommandResult& result, const std::filesystem::path& file,
                          const std::string& remedy) {
  std::string words = result.output;
  std::string problem = result.last_line();
  if (result.is_late) {
    problem = fmt::format("it took more than {} s", kLimitSeconds);
  } else if (const auto last = words.rfind(problem); last != std::string::npos) {
    words.erase(last);  // it is told once
  }
  std::cerr << words;
  throw InputError({.what = problem, .where = file.string(), .remedy = remedy});
}

}  // namespace scavenger
