// Replays an event log: what a part of the job has decided is decided again and compared.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "elastic/events/event_log.h"

namespace scavenger::elastic {

struct ReplayedLog {
  std::uint64_t decisions = 0;           // that were decided again
  std::vector<std::string> differences;  // with the line of the log
};

// Gives each event of the run to `replay`, whose add() returns how the log differs from what it
// decides, or nothing. Throws InputError if a line is no event.
template <typename Replay>
ReplayedLog replay_log(const std::filesystem::path& run_folder, Replay replay) {
  ReplayedLog result;
  EventLogReader log(run_folder / "events.jsonl");
  while (const auto logged = log.next())
    if (const auto difference = replay.add(*logged))
      result.differences.push_back(fmt::format("line {}: {}", log.line(), *difference));
  result.decisions = replay.decisions();
  return result;
}

}  // namespace scavenger::elastic
