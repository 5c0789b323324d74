// Where a job starts from: nothing, or a checkpoint of its run folder.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "elastic/coordinator/job/run_folder.h"
#include "elastic/history/run_numbers.h"
#include "runtime/checkpoint/checkpoint_store.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

struct DamagedCheckpoint {
  std::string folder;
  std::string reason;
};

struct JobStart {
  JobConfig config;
  RunFolder folder;
  bool is_resume = false;
  std::optional<LoadedCheckpoint> checkpoint;  // of a resumed job that has one
  std::vector<DamagedCheckpoint> damaged;      // found on the way, and passed over
  // Of a job that has come to its end, and whose last weights are there: nothing is left to do.
  std::optional<RunNumbers> finished;
};

// A job that goes on in its folder, with its own configuration and these overrides (as after
// --set). Throws ConfigError, CheckpointError, InputError if they, or its edited configuration,
// make it another job: other data, model, seed or kind of optimizer.
JobStart resume_job(const std::filesystem::path& path, const std::vector<std::string>& overrides);

// The names of the settings that may not differ between a checkpoint and the job that goes on from
// it, but do.
std::vector<std::string> identity_changes(const JobConfig& before, const JobConfig& after);

}  // namespace scavenger::elastic
