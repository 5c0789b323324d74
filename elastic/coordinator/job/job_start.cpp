#include "elastic/coordinator/job/job_start.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "elastic/coordinator/checkpoints/optimizer_state.h"
#include "elastic/coordinator/job/finished_job.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
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

namespace {

[[noreturn]] void refuse_another_job(const std::vector<std::string>& changes,
                                     const std::string& from, const std::string& where,
                                     const std::string& remedy) {
  throw ConfigError({.what = join_words(changes) + (changes.size() > 1 ? " differ" : " differs") +
                             " from " + from + ", so this would be another job",
                     .where = where,
                     .remedy = remedy + ", or start a new job with a configuration of its own"});
}

// config.json is a text that anybody may edit; a checkpoint has what it was trained with, sealed.
void require_same_job(const JobStart& start) {
  const Checkpoint& checkpoint = start.checkpoint->content;
  const std::string where = start.checkpoint->folder.string();
  if (checkpoint.config.empty()) return;
  const JobConfig trained =
      parse_resolved_config(json_text(checkpoint.config), where + "/state.json");
  const auto changes = identity_changes(trained, start.config);
  if (!changes.empty())
    refuse_another_job(changes, "that of the checkpoint " + where, start.folder.config().string(),
                       "put back what state.json in the checkpoint has");
}

}  // namespace

JobStart resume_job(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  JobStart start;
  start.folder = open_run_folder(path);
  start.is_resume = true;
  start.config = load_job_config(start.folder.config(), overrides);
  const JobConfig before = read_resolved_config(start.folder.config());
  const auto changes = identity_changes(before, start.config);
  if (!changes.empty())
    refuse_another_job(changes, "the job's", start.folder.path.string(), "leave it as it is");
  LocalDisk disk;
  CheckpointStore store(disk, start.folder.checkpoints(),
                        {start.config.checkpoint.keep_last, start.config.checkpoint.keep_best});
  start.checkpoint = store.load_latest_good([&start](const Error& error) {
    start.damaged.push_back({error.problem().where, error.what()});
  });
  if (!start.checkpoint) return start;
  require_same_job(start);
  require_optimizer_state(start.config.optimizer, start.checkpoint->content,
                          start.checkpoint->folder);
  auto ended = numbers_of_ended_job(start.folder.events());
  if (ended && is_finished(*ended, start.config.stop) &&
      ended->iterations == start.checkpoint->content.iteration)
    start.finished = std::move(*ended);
  return start;
}

}  // namespace scavenger::elastic
