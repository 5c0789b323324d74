#include "elastic/vms/race/vm_race_replay.h"

#include <utility>
#include <variant>

#include "elastic/search/stored_models.h"
#include "elastic/vms/race/vm_race.h"
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

AdvisorReplay race_replay(
    std::function<std::optional<VmRaceSetting>(const fact::Start&)> setting_of) {
  return AdvisorReplay(
      {.decide_of = ReplayedAdvisor::by_setting(std::move(setting_of), continue_race),
       .is_decision = is_race_step,
       .may_come_from_outside = may_come_from_outside,
       .is_occasion = is_race_occasion});
}

ReplayedLog replay_race(const std::filesystem::path& run_folder, ConfigOf config_of,
                        std::function<MachineCatalogue(const JobConfig&)> catalogue_of) {
  const auto setting_of = [stored = read_stored_models(run_folder),
                           config_of = std::move(config_of),
                           catalogue_of = std::move(catalogue_of)](const fact::Start& start) {
    const JobConfig& config = config_of(start);
    std::optional<VmRaceSetting> setting;
    if (seeks_machine_type(config.provider))
      setting = vm_race_setting(config, catalogue_of(config), stored);
    return setting;
  };
  return replay_log(run_folder, race_replay(setting_of));
}

}  // namespace scavenger::elastic
