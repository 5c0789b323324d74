#include "apps/command_line/job_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <optional>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/process/child_process.h"

namespace scavenger {
namespace {

// These programs have no options: scavenger-train tells them all by the launch ticket. A library
// for command lines would be a tenth of what is compiled before the first training begins.
std::optional<int> obey_command_line(const std::string& program, int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word.empty()) return std::nullopt;
  if (word == "--version") {
    std::cout << version_line(program) << "\n";
    return 0;
  }
  const bool asks = word == "--help" || word == "-h";
  (asks ? std::cout : std::cerr) << "Part of a Scavenger job. scavenger-train starts it.\n"
                                 << "Usage: " << program << " [--help | --version]\n";
  return asks ? 0 : 2;
}

}  // namespace

int run_job_process(const std::string& program, int argc, char** argv,
                    const std::function<int(const LaunchTicket&)>& body) {
  die_with_parent();
  if (const auto code = obey_command_line(program, argc, argv)) return *code;
  try {
    const LaunchTicket ticket = read_launch_ticket();
    // The parent may have died before we asked to die with it.
    if (ticket.parent_pid != 0 && ::getppid() != ticket.parent_pid) return 1;
    start_log(fmt::format("{} {}", name_of(ticket.role), ticket.index), LogLevel::kInfo);
    return body(ticket);
  } catch (const InputError& error) {
    std::cerr << program << ": " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    log_error("{}", error.what());
    return 1;
  }
}

}  // namespace scavenger
