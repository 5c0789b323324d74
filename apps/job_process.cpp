#include "apps/job_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/process/child_process.h"

namespace scavenger {

int run_job_process(const std::string& program, int argc, char** argv,
                    const std::function<int(const LaunchTicket&)>& body) {
  die_with_parent();
  CLI::App app("Part of a Scavenger job. scavenger-train starts it.", program);
  app.set_version_flag("--version", version_line(program));
  CLI11_PARSE(app, argc, argv);
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
