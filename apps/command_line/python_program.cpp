#include "apps/command_line/python_program.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/net/spawn.h"

namespace scavenger {
namespace {

// Says what is waited for, until it is destroyed or stopped.
class DelayNotes final {
 public:
  DelayNotes(asio::io_context& io, const std::string& delay, const PythonPatience& patience)
      : timer_(io), delay_(delay), patience_(patience) {
    wait(patience_.first_note_seconds);
  }
  void stop() { timer_.cancel(); }

 private:
  void wait(double seconds) {
    timer_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds)));
    waited_seconds_ += seconds;
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      log_warning("{}, after {:g} s; it is waited for until {:g} s have passed (Ctrl-C ends it)",
                  delay_, waited_seconds_, patience_.limit_seconds);
      wait(patience_.further_note_seconds);
    });
  }

  asio::steady_timer timer_;
  const std::string& delay_;
  const PythonPatience& patience_;
  double waited_seconds_ = 0.0;
};

}  // namespace

CommandResult ask_python(const std::filesystem::path& program_folder, PythonQuestion question,
                         const PythonPatience& patience) {
  asio::io_context io;
  CommandResult result;
  std::exception_ptr failure;
  DelayNotes notes(io, question.delay, patience);
  const auto run = [&]() -> awaitable<void> {
    std::vector<std::string> words = {(program_folder / "scavenger-python-worker").string(),
                                      question.word};
    result =
        co_await run_command(std::move(words), std::move(question.input), patience.limit_seconds);
  };
  asio::co_spawn(io, run(), [&](std::exception_ptr error) {
    failure = std::move(error);
    notes.stop();
  });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return result;
}

std::string try_by_hand(const std::filesystem::path& file) {
  return fmt::format("try it by hand: python3 -c \"import scavenger; scavenger.check('{}')\"",
                     file.string());
}

// The user sees Python's own words first. The last line says what was wrong.
void throw_python_failure(const CommandResult& result, const std::filesystem::path& file,
                          const std::string& remedy) {
  std::string words = result.output;
  std::string problem = result.last_line();
  if (result.is_late) {
    problem = fmt::format("it took more than {:g} s", PythonPatience{}.limit_seconds);
  } else if (const auto last = words.rfind(problem); last != std::string::npos) {
    words.erase(last);  // it is told once
  }
  if (problem.empty()) problem = "it said nothing, and ended with " + result.status.text();
  std::cerr << words;
  std::string where = problem.starts_with(file.string()) ? "" : file.string();
  throw InputError({.what = problem, .where = where, .remedy = remedy});
}

}  // namespace scavenger
