// Decides again what a recorded search for the machine type has decided, from its event log alone.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "elastic/events/log_replay.h"
#include "elastic/history/run_summary.h"
#include "elastic/vms/vm_race_setting.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

// Takes the events of a log in their order. Pure; one thread.
class VmRaceReplay final {
 public:
  explicit VmRaceReplay(VmRaceSetting setting) : setting_(std::move(setting)) {}

  // What the log should have said here, and did not, or the other way round; in words.
  std::optional<std::string> add(const LoggedEvent& logged);
  std::uint64_t decisions() const { return decisions_; }

 private:
  std::optional<std::string> compare(const RunEvent& recorded);

  const VmRaceSetting setting_;
  RunSummary summary_;
  bool iterations_came_ = false;  // and nothing was decided on them yet
  std::deque<RunEvent> expected_;
  std::uint64_t decisions_ = 0;
};

// Whether a run has such a search. Throws InputError where it is none.
bool seeks_machine_type(const std::filesystem::path& run_folder);

// Reads a run folder. `catalogue_of`: what the job's provider has to offer.
ReplayedLog replay_race(const std::filesystem::path& run_folder,
                        const std::function<MachineCatalogue(const JobConfig&)>& catalogue_of);

}  // namespace scavenger::elastic
