// What `scavenger-train --resume` sees to before the job goes on.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/config/job_config.h"
#include "runtime/provider/provider_factory.h"

namespace scavenger {

// The folder of a job as it was before its checkpoint was read, which takes place before this
// process holds the folder's lock. Empty path: no job is resumed.
class ResumedFolder final {
 public:
  explicit ResumedFolder(const std::filesystem::path& run_folder);

  // Call it while the lock is held. Throws InputError if another process has worked on the job
  // since, from whose end the job would not go on. Ends what a killed process of the job may have
  // rented, if the job has another provider than before; if that fails, a warning says so.
  void prepare(const JobConfig& config, const ProviderHost& host) const;

 private:
  const std::filesystem::path path_;
  const std::uintmax_t event_bytes_;
};

}  // namespace scavenger
