// scavenger-ctl RUN top: a running job on the terminal.
#pragma once

#include <ostream>
#include <string>

namespace scavenger::elastic {

// On `out`, until the job has ended, or Ctrl-C; once if standard output is no terminal. Throws
// InputError if there is no such run.
void show_top(const std::string& run_folder, std::ostream& out);

}  // namespace scavenger::elastic
