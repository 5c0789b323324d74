#include "elastic/vms/vm_race_replay.h"

#include <utility>
#include <variant>

#include "elastic/vms/vm_race.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {
namespace {

bool is_race_step(const RunEvent& event) {
  return std::holds_alternative<fact::VmStep>(event);
}

// Those that do not follow from measurements: the first one, a resume, somebody else's decision, an
// audition for which there can be no machine.
bool may_come_from_outside(const RunEvent& event) {
  const fact::VmPhase phase = std::get<fact::VmStep>(event).phase;
  return phase == fact::VmPhase::kBegun || phase == fact::VmPhase::kEnded ||
         phase == fact::VmPhase::kDismissed;
}

}  // namespace

AdvisorReplay race_replay(VmRaceSetting setting) {
  return AdvisorReplay(
      {.decide = [setting = std::move(setting)](
                     const RunNumbers& numbers) { return continue_race(setting, numbers); },
       .is_decision = is_race_step,
       .may_come_from_outside = may_come_from_outside});
}

bool seeks_machine_type(const std::filesystem::path& run_folder) {
  return seeks_machine_type(read_resolved_config(run_folder / "config.json").provider);
}

ReplayedLog replay_race(const std::filesystem::path& run_folder,
                        const std::function<MachineCatalogue(const JobConfig&)>& catalogue_of) {
  const JobConfig config = read_resolved_config(run_folder / "config.json");
  return replay_log(run_folder, race_replay(vm_race_setting(config, catalogue_of(config))));
}

}  // namespace scavenger::elastic
