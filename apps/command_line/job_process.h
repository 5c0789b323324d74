// What the programs have in common that scavenger-train starts: their command line, log, and last
// error.
#pragma once

#include <functional>
#include <string>

#include "runtime/process/launch_ticket.h"

namespace scavenger {

// Reads the launch ticket, starts the log, and runs `body`. Returns the exit code: body's, 1 for an
// Error, 2 if the program was not started by scavenger-train.
int run_job_process(const std::string& program, int argc, char** argv,
                    const std::function<int(const LaunchTicket&)>& body);

}  // namespace scavenger
