#include "apps/command_line/resumed_folder.h"

#include <string>
#include <system_error>

#include "elastic/coordinator/job/run_folder.h"
#include "elastic/decisions/recorded_configs.h"
#include "elastic/providers/left_machines.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

std::uintmax_t event_bytes_of(const std::filesystem::path& run_folder) {
  std::error_code error;
  const std::uintmax_t bytes =
      std::filesystem::file_size(elastic::RunFolder{run_folder}.events(), error);
  return error ? 0 : bytes;
}

// Of the provider that the job had before, if that is another one. What that was is no condition
// for going on.
void end_left_machines(const std::filesystem::path& run_folder, const JobConfig& config,
                       const ProviderHost& host) {
  std::string problem;
  try {
    const elastic::RecordedConfigs recorded(run_folder);
    const JobConfig& earlier = recorded.of_last_process();
    const ProviderType type = earlier.provider.type;
    if (type == config.provider.type || type == ProviderType::kLocal) return;
    problem = join_words(elastic::end_left_machines(earlier, host));
  } catch (const Error& error) {
    problem = error.what();
  }
  if (!problem.empty())
    log_warning("what an earlier process of this job may have rented may still be there: {}",
                problem);
}

}  // namespace

ResumedFolder::ResumedFolder(const std::filesystem::path& run_folder)
    : path_(run_folder), event_bytes_(event_bytes_of(run_folder)) {}

void ResumedFolder::prepare(const JobConfig& config, const ProviderHost& host) const {
  if (path_.empty()) return;
  // It may be less than it was: the lock's holder cuts off what a killed process has not finished.
  if (event_bytes_of(path_) > event_bytes_)
    throw InputError({.what = "another process has worked on this job just now",
                      .where = path_.string(),
                      .remedy = "resume it again, from where that has ended"});
  end_left_machines(path_, config, host);
}

}  // namespace scavenger
