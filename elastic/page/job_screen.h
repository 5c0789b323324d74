// A running job on one screen of a terminal, for `scavenger-ctl RUN top`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "elastic/page/run_history.h"

namespace scavenger::elastic {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// Lines that fit, the most important first. `state` is what the job itself says ("training"), empty
// if it does not answer; `seconds` is the job's time now.
std::vector<std::string> job_screen(const RunHistory& history, const std::string& state,
                                    double seconds, ScreenSize size);

}  // namespace scavenger::elastic
