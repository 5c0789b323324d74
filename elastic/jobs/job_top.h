// scavenger-ctl RUN top: a running job on the terminal.
#pragma once

#include <string>

namespace scavenger {

// Until the job has ended, or Ctrl-C; once where standard output is no terminal. Throws InputError
// where there is no such run.
void show_top(const std::string& run_folder);

}  // namespace scavenger
