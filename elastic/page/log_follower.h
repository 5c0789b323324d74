// Reads the event log of a run that may still grow.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "elastic/events/event_log.h"
#include "elastic/page/run_history.h"

namespace scavenger::elastic {

// One thread.
class LogFollower final {
 public:
  // The file may come later.
  explicit LogFollower(std::filesystem::path log) : log_(std::move(log)) {}

  // Takes in what has come, for about so long at most; whether that was all. Throws InputError
  // if the log is damaged.
  bool advance(std::chrono::milliseconds patience);

  const RunHistory& history() const { return history_; }
  // There is something to show.
  bool has_begun() const { return history_.numbers().starts.total > 0; }

 private:
  const std::filesystem::path log_;
  std::unique_ptr<EventLogReader> reader_;
  RunHistory history_;
};

}  // namespace scavenger::elastic
