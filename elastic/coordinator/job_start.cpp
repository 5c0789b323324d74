#include "elastic/coordinator/job_start.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/disk.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {

std::vector<std::string> identity_changes(const JobConfig& before, const JobConfig& after) {
  const nlohmann::ordered_json a = to_json(before);
  const nlohmann::ordered_json b = to_json(after);
  std::vector<std::string> changed;
  for (const char* key : {"seed", "data", "model"})
    if (a.at(key) != b.at(key)) changed.emplace_back(key);
  if (a.at("optimizer").at("type") != b.at("optimizer").at("type"))
    changed.emplace_back("optimizer.type");
  return changed;
}

JobStart resume_job(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  JobStart start;
  start.folder = open_run_folder(path);
  start.is_resume = true;
  start.config = load_job_config(start.folder.config(), overrides);
  const JobConfig before = read_resolved_config(start.folder.config());
  const auto changes = identity_changes(before, start.config);
  if (!changes.empty())
    throw ConfigError(
        {.what = join_words(changes) + (changes.size() > 1 ? " differ" : " differs") +
                 " from the job's, so this would be another job",
         .where = start.folder.path.string(),
         .remedy = "leave it as it is, or start a new job with a configuration of its own"});
  LocalDisk disk;
  CheckpointStore store(disk, start.folder.checkpoints(),
                        {start.config.checkpoint.keep_last, start.config.checkpoint.keep_best});
  start.checkpoint = store.load_latest_good([&start](const Error& error) {
    start.damaged.push_back({error.problem().where, error.what()});
  });
  return start;
}

}  // namespace scavenger::elastic
