#include "elastic/planning/run_replay.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "elastic/decisions/decision_log.h"
#include "elastic/decisions/decision_replay.h"
#include "elastic/decisions/recorded_configs.h"
#include "elastic/providers/job_provider.h"
#include "elastic/rate/rate_replay.h"
#include "elastic/search/search_replay.h"
#include "elastic/vms/race/vm_race_replay.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {
namespace {

// A price list may be gone since the job ended. Only prices and shapes stand there, and a search
// counts on those of machines that the configuration itself counts.
MachineCatalogue catalogue_of(const JobConfig& config) {
  try {
    return provider_factory(config.provider.type).catalogue(config, 0);
  } catch (const Error&) {
    return {};
  }
}

void add(const char* who, std::uint64_t decisions, const std::vector<std::string>& differences,
         RunReplay& replay) {
  for (const std::string& difference : differences) replay.text += difference + "\n";
  replay.text += fmt::format("{}: {} decisions decided again, {} otherwise than recorded\n", who,
                             decisions, differences.size());
  replay.is_same &= differences.empty();
}

}  // namespace

RunReplay replay_run(const std::filesystem::path& run_folder) {
  const RecordedConfigs configs(run_folder);
  std::optional<ReplayedLog> search;
  if (configs.any(searches_size))
    search = replay_search(run_folder, configs.in_order(), catalogue_of);
  std::optional<ReplayedLog> machines;
  if (configs.any([](const JobConfig& config) { return seeks_machine_type(config.provider); }))
    machines = replay_race(run_folder, configs.in_order(), catalogue_of);
  std::optional<ReplayedLog> rates;
  if (configs.any([](const JobConfig& config) { return follows_noise(config.optimizer); }))
    rates = replay_rates(run_folder, [config_of = configs.in_order()](const fact::Start& start) {
      return config_of(start).optimizer;
    });
  RunReplay replay;
  // Jobs of older versions have no record of the controller's.
  if ((!search && !rates && !machines) || std::filesystem::exists(decision_file(run_folder))) {
    const ReplayedDecisions controller = replay_decisions(run_folder);
    add("controller", controller.decisions, controller.differences, replay);
  }
  if (search) add("search", search->decisions, search->differences, replay);
  if (machines) add("machine type", machines->decisions, machines->differences, replay);
  if (rates) add("learning rate", rates->decisions, rates->differences, replay);
  return replay;
}

}  // namespace scavenger::elastic
