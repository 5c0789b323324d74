#include "runtime/process/command.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

// Returns an unnamed file for a program's output.
FileDescriptor output_file() {
  FileDescriptor file(::memfd_create("output", MFD_CLOEXEC));
  if (file.get() < 0)
    throw SystemError(errno,
                      {.what = "cannot hold a program's output", .where = "memory", .remedy = {}});
  return file;
}

std::string content_of(int file) {
  std::string text(kCommandOutputLimitBytes, '\0');
  const auto count = ::pread(file, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace

std::string CommandResult::last_line() const {
  const auto end = output.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const auto begin = output.find_last_of('\n', end);
  return output.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

std::string CommandResult::failure() const {
  const std::string how = is_late ? "it took too long" : status.text();
  const std::string last = last_line();
  return last.empty() ? how : fmt::format("{}: {}", how, last);
}

awaitable<CommandResult> run_command(std::vector<std::string> words, std::string input,
                                     double limit_seconds) {
  const FileDescriptor output = output_file();
  ChildProcess::Command command;
  command.program = words.front();
  command.arguments.assign(words.begin() + 1, words.end());
  command.standard_input = std::move(input);
  // The child opens the path before it closes the inherited files.
  command.log = fmt::format("/proc/self/fd/{}", output.get());

  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer end(executor);
  end.expires_after(std::chrono::milliseconds(static_cast<long>(limit_seconds * 1000)));
  CommandResult result;
  std::optional<ExitStatus> status;
  auto& io = static_cast<asio::io_context&>(asio::query(executor, asio::execution::context));
  ChildProcess child(io, command, [&status, &end](const ExitStatus& ended) {
    status = ended;
    end.cancel();
  });
  const auto quietly = asio::as_tuple(use_awaitable);
  co_await end.async_wait(quietly);
  if (!status) {
    result.is_late = true;
    child.signal(SIGKILL);
    end.expires_at(asio::steady_timer::time_point::max());
    co_await end.async_wait(quietly);
  }
  result.status = status.value_or(ExitStatus());
  result.output = content_of(output.get());
  co_return result;
}

}  // namespace scavenger
