// Tables of seconds per iteration, by others and of this project's own jobs: what predictions and
// their intervals are judged by.
#pragma once

#include <string>
#include <vector>

#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

struct TimeTable {
  std::string name;
  std::string source;                 // of tables that were measured in the same place
  std::vector<TimeObservation> rows;  // one a configuration, by K and then by B
};

// This project's own: sixteen configurations of two jobs on emulated machines
// (docs/results/predictions.md).
std::vector<TimeTable> own_tables();

// All that the shared folder holds and that has two K and two local batches at least: the paper's
// two jobs, Pollux's and Sia's jobs with one worker per node, Sia's jobs on the GPUs of one node,
// and Lynceus' distributed TensorFlow jobs, one table for each model and type of machine. A folder
// that is missing is left out, with a warning.
std::vector<TimeTable> tables_of_others();

}  // namespace scavenger::perfmodel
