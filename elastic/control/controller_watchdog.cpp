// The controller's part that ends a job in which nothing that it waits for can happen any more.
// Each state waits for something that is on its way: a process that starts, an answer, a checkpoint
// that is being written. If none is, no limit of the configuration would ever end the job.
#include <fmt/format.h>

#include <algorithm>

#include "elastic/control/controller.h"

namespace scavenger::elastic {
namespace {

// News that was on its way when somebody was counted out has come by then.
constexpr double kStandstillSeconds = 10.0;
// While the controller itself is stopped (Ctrl-Z, a machine that is moved) it does not watch.
constexpr double kLongestLookSeconds = 1.0;

}  // namespace

// What the present state waits for if nobody is left who could bring it; else nothing. States that
// are missing here have a limit of their own (limits.*), or wait for the disk or the provider.
std::string Controller::awaited_in_vain() const {
  switch (state()) {
    case JobState::kGathering:
      if (roster_.starting_count() > 0 || roster_.deferred_count() > 0 || writing_) return {};
      return fmt::format("processes, and none is on its way (there are {})",
                         roster_.joined().empty() ? "none" : names_of(roster_.joined()));
    case JobState::kHalting:
      if (roster_.is_any_halting()) return {};
      return "processes to halt, and none was asked to";
    case JobState::kTraining:
      if (paused_ || boundary_wanted_ || !work_.is_at_rest()) return {};
      return fmt::format("iterations after {}, and none may be done", work_.done());
    case JobState::kDraining:
      if (writing_ || retry_seconds_) return {};
      return "the last checkpoint, and none is being written";
    default:
      return {};
  }
}

void Controller::watch_for_standstill() {
  const double look_seconds = std::min(kLongestLookSeconds, now_seconds_ - watched_seconds_);
  watched_seconds_ = now_seconds_;
  const std::string awaited = awaited_in_vain();
  if (awaited.empty()) {
    standstill_seconds_ = 0.0;
    return;
  }
  standstill_seconds_ += look_seconds;
  if (standstill_seconds_ > kStandstillSeconds)
    fail(fmt::format("the job stands still: it waits for {}", awaited));
}

}  // namespace scavenger::elastic
