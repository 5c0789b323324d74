// Decides again what a recorded run has decided about its learning rate, from its event log alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "elastic/events/log_replay.h"
#include "elastic/history/run_summary.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Takes the events of a log in their order. Pure; one thread.
class RateReplay final {
 public:
  explicit RateReplay(OptimizerConfig optimizer) : optimizer_(std::move(optimizer)) {}

  // What the log should have said here, in words; nothing if it says that.
  std::optional<std::string> add(const LoggedEvent& logged);
  std::uint64_t decisions() const { return decisions_; }

 private:
  std::optional<std::string> compare(const fact::RateDecision& recorded) const;

  const OptimizerConfig optimizer_;
  RunSummary summary_;
  std::uint64_t decisions_ = 0;
};

// Whether the noise decides about the learning rate of a run. Throws InputError if it is none.
bool follows_noise(const std::filesystem::path& run_folder);

// Reads a run folder. Throws InputError if it is none.
ReplayedLog replay_rates(const std::filesystem::path& run_folder);

}  // namespace scavenger::elastic
