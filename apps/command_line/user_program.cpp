#include "apps/command_line/user_program.h"

#include <poll.h>
#include <unistd.h>

#include <exception>
#include <iostream>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

// Not if it is closed, or a pipe or a terminal at whose other end nobody is left.
bool is_standard_output_read() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) >= 0 && (output.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

}  // namespace

void finish_standard_output() {
  std::cout.flush();
  if (std::cout || !is_standard_output_read()) return;
  throw SystemError({.what = "cannot be written, so a part of the output is missing",
                     .where = "standard output",
                     .remedy = "make room on the disk that it goes to"});
}

std::string told_by(const std::string& name, const std::string& text) {
  const bool names_itself = text.starts_with(name + ":") || text.starts_with(name + " ");
  return names_itself ? text : name + ": " + text;
}

int run_user_program(const char* name, const std::function<int()>& body) {
  try {
    const int code = body();
    finish_standard_output();
    return code;
  } catch (const InputError& error) {
    std::cerr << told_by(name, error.what()) << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << told_by(name, error.what()) << "\n";
    return 1;
  }
}

}  // namespace scavenger
