// The jobs of this machine and user: each running scavenger-train has an entry in a folder of the
// user's, by which others find it without a server.
//
// An entry is a symbolic link to the run folder. Its name says which process made it: the machine,
// its boot, the process's namespace, its id and when it began. So what a killed process leaves is
// recognised, also after its id was given to another one, and the next look removes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger::elastic {

// $XDG_STATE_HOME/scavenger/jobs, else ~/.local/state/scavenger/jobs; nothing if there is
// neither. Not $XDG_RUNTIME_DIR: jobs of cron and of batch systems have another one, or none.
std::optional<std::filesystem::path> job_registry_folder();

// Keeps the entry of this process and `run_folder` while it lives. A registry that cannot be
// written is told to the log, and is no reason not to train.
class JobRegistration final {
 public:
  explicit JobRegistration(const std::filesystem::path& run_folder);
  ~JobRegistration();
  JobRegistration(const JobRegistration&) = delete;
  JobRegistration& operator=(const JobRegistration&) = delete;

 private:
  std::filesystem::path entry_;  // empty: there is none
};

struct RegisteredJob {
  std::filesystem::path run_folder;
  std::int64_t pid = 0;

  bool operator==(const RegisteredJob&) const = default;
};

// Those that run here now, by process id. Removes the entries of processes of this machine that are
// gone; leaves those of other machines, which may share the home folder.
std::vector<RegisteredJob> registered_jobs(const std::filesystem::path& registry);

// The entry's name for a process; nothing if there is no such process.
std::optional<std::string> job_entry_name(std::int64_t pid);

}  // namespace scavenger::elastic
