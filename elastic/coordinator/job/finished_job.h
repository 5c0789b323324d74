// Whether a job has come to its end, so that there is nothing left to resume.
#pragma once

#include <filesystem>
#include <optional>

#include "elastic/history/run_numbers.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Whether what ended the job still ends it with these limits.
bool is_finished(const RunNumbers& numbers, const StopConfig& stop);

// The numbers of the job whose event log this is, if its last process came to the job's end;
// nothing if it goes on, was interrupted, has failed or was killed. Throws InputError if the
// log is damaged.
std::optional<RunNumbers> numbers_of_ended_job(const std::filesystem::path& event_log);

}  // namespace scavenger::elastic
