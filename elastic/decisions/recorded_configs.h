// With which configuration each process of a run worked, from decisions.jsonl. config.json has that
// of the last one, and a resumed job may have other limits, policies or rules.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "elastic/events/event.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Call it once for each `start` event of a log, in their order. The result lives as long as the
// function.
using ConfigOf = std::function<const JobConfig&(const fact::Start&)>;

class RecordedConfigs final {
 public:
  // Throws InputError if the folder is no run or a configuration is damaged, SystemError if a file
  // of it cannot be read.
  explicit RecordedConfigs(const std::filesystem::path& run_folder);

  // Of the last process of the job, whatever config.json has become since; that of config.json if
  // no process has left one.
  const JobConfig& of_last_process() const {
    return recorded_.empty() ? last_ : recorded_.back().config;
  }
  bool any(bool (*holds)(const JobConfig&)) const;
  // Returns a function of its own for one pass over the log. A process that left no configuration
  // (older versions wrote no decisions.jsonl) has that of config.json.
  ConfigOf in_order() const;

 private:
  struct Recorded {
    std::string digest;  // that of the event `start`; empty: an older version did not leave it
    JobConfig config;
  };
  std::vector<Recorded> recorded_;
  JobConfig last_;  // config.json
};

}  // namespace scavenger::elastic
