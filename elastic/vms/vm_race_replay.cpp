#include "elastic/vms/vm_race_replay.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "elastic/vms/vm_race.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {
namespace {

std::string text_of(const RunEvent& event) {
  return to_json_line({0.0, event});
}

// Those that do not follow from measurements: the first one, a resume, somebody else's decision, an
// audition for which there can be no machine.
bool comes_from_outside(const RunEvent& event) {
  const fact::VmPhase phase = std::get<fact::VmStep>(event).phase;
  return phase == fact::VmPhase::kBegun || phase == fact::VmPhase::kEnded ||
         phase == fact::VmPhase::kDismissed;
}

}  // namespace

std::optional<std::string> VmRaceReplay::compare(const RunEvent& recorded) {
  if (expected_.empty())
    return comes_from_outside(recorded)
               ? std::nullopt
               : std::optional("nothing is to be decided, and the log has " + text_of(recorded));
  const std::string wanted = text_of(expected_.front()), found = text_of(recorded);
  expected_.pop_front();
  ++decisions_;
  if (wanted == found) return std::nullopt;
  return fmt::format("decided {}, and the log has {}", wanted, found);
}

std::optional<std::string> VmRaceReplay::add(const LoggedEvent& logged) {
  // That the noise has settled is logged between iterations and what is decided on them.
  const bool waits = std::holds_alternative<fact::NoiseStable>(logged.event);
  if (iterations_came_ && !waits) {
    iterations_came_ = false;
    for (RunEvent& event : continue_race(setting_, summary_.numbers()))
      expected_.push_back(std::move(event));
  }
  std::optional<std::string> difference;
  if (std::holds_alternative<fact::VmStep>(logged.event)) {
    difference = compare(logged.event);
  } else if (!expected_.empty() && std::holds_alternative<fact::Start>(logged.event)) {
    expected_.clear();  // a kill came between the decision and its record: it is made again
  } else if (!expected_.empty() && !waits) {
    difference = "the log lacks " + text_of(expected_.front());
    expected_.clear();
  }
  summary_.apply(logged);
  iterations_came_ |= is_measurement(logged.event);
  return difference;
}

bool seeks_machine_type(const std::filesystem::path& run_folder) {
  return seeks_machine_type(read_resolved_config(run_folder / "config.json").provider);
}

ReplayedLog replay_race(const std::filesystem::path& run_folder,
                        const std::function<MachineCatalogue(const JobConfig&)>& catalogue_of) {
  const JobConfig config = read_resolved_config(run_folder / "config.json");
  return replay_log(run_folder, VmRaceReplay(vm_race_setting(config, catalogue_of(config))));
}

}  // namespace scavenger::elastic
