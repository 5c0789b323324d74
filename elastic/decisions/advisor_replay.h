// Decides again what an advisor (the search for K and B, the search for the machine type) has
// decided in a recorded run, from its event log and the configurations of its processes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/history/run_summary.h"

namespace scavenger::elastic {

// An advisor that decides after each measurement, and maybe on other occasions. Its functions are
// pure.
struct ReplayedAdvisor {
  // Returns what is to be logged, in this order: mostly nothing.
  using Decide = std::function<std::vector<RunEvent>(const RunNumbers&)>;
  // Returns how the advisor decides in a process that has begun so, since a resumed job may have
  // other limits. Empty: that process has no such advisor.
  std::function<Decide(const fact::Start&)> decide_of;
  // Of an advisor that was told a Setting: `setting_of` returns that of the process that has begun
  // so, or nothing if it has no such advisor; `go_on` decides from it and what was measured.
  template <typename Setting>
  static std::function<Decide(const fact::Start&)> by_setting(
      std::function<std::optional<Setting>(const fact::Start&)> setting_of,
      std::vector<RunEvent> (*go_on)(const Setting&, const RunNumbers&)) {
    return [setting_of = std::move(setting_of), go_on](const fact::Start& start) {
      Decide decide;
      if (std::optional<Setting> setting = setting_of(start))
        decide = [setting = std::move(*setting), go_on](const RunNumbers& numbers) {
          return go_on(setting, numbers);
        };
      return decide;
    };
  }
  // Whether it is this advisor that logs such events.
  bool (*is_decision)(const RunEvent&) = nullptr;
  // Whether a decision need not follow from measurements: the first one, one of the user's.
  bool (*may_come_from_outside)(const RunEvent&) = nullptr;
  // Whether the advisor decides after this event.
  bool (*is_occasion)(const RunEvent&) = is_measurement;
};

// Takes the events of a log in their order (replay_log() of elastic/events/log_replay.h does so).
// Pure; one thread.
class AdvisorReplay final {
 public:
  explicit AdvisorReplay(ReplayedAdvisor advisor) : advisor_(std::move(advisor)) {}

  // Returns, in words, how the log differs here from what the advisor decides; nothing if it does
  // not.
  std::optional<std::string> add(const LoggedEvent& logged);
  // Returns how many decisions were made again and compared.
  std::uint64_t decisions() const { return decisions_; }

 private:
  std::optional<std::string> compare(const RunEvent& recorded);

  const ReplayedAdvisor advisor_;
  ReplayedAdvisor::Decide decide_;  // of the process whose events these are
  RunSummary summary_;
  bool measured_ = false;  // and nothing was decided on it yet
  std::deque<RunEvent> expected_;
  std::uint64_t decisions_ = 0;
};

}  // namespace scavenger::elastic
