// Decides again what a recorded run has decided about its learning rate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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
  // Returns the optimizer of the process that has begun so.
  using OptimizerOf = std::function<OptimizerConfig(const fact::Start&)>;

  explicit RateReplay(OptimizerOf optimizer_of) : optimizer_of_(std::move(optimizer_of)) {}

  // What the log should have said here, in words; nothing if it says that.
  std::optional<std::string> add(const LoggedEvent& logged);
  std::uint64_t decisions() const { return decisions_; }

 private:
  std::optional<std::string> compare(const fact::RateDecision& recorded) const;

  const OptimizerOf optimizer_of_;
  OptimizerConfig optimizer_;
  RunSummary summary_;
  std::uint64_t decisions_ = 0;
};

// Whether the noise decides about the learning rate.
bool follows_noise(const OptimizerConfig& optimizer);

// Reads a run folder, whose processes had these optimizers.
ReplayedLog replay_rates(const std::filesystem::path& run_folder,
                         RateReplay::OptimizerOf optimizer_of);

}  // namespace scavenger::elastic
