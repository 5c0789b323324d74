// scavenger-ctl list: the jobs of this machine and user.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace scavenger::elastic {

// One object for each job: run_folder, name, state, workers, batch_size, evaluation (metric, split
// and value, or null), cost_dollars, started_utc and pid; what is not known is null. Running jobs
// come first, by the registry, and are asked through their sockets. With `folder`, also those in it
// (one folder each) that have ended, as their reports say; one whose report has no end and that no
// process works on is "killed".
nlohmann::json list_jobs(const std::filesystem::path& folder);

// The same as a table, for people.
std::string job_table(const nlohmann::json& jobs);

}  // namespace scavenger::elastic
