#include "elastic/coordinator/advice/advisors.h"

#include <utility>

#include "elastic/coordinator/advice/batching_advisor.h"
#include "elastic/coordinator/advice/search_advisor.h"
#include "elastic/coordinator/advice/vm_advisor.h"
#include "elastic/coordinator/job/job_facts.h"
#include "elastic/model_service/open_store.h"
#include "elastic/search/machine_pool.h"
#include "elastic/search/search_grid.h"
#include "elastic/search/stored_models.h"
#include "elastic/vms/race/vm_race_setting.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {
namespace {

void keep_stored_models(const JobStart& start, std::string& problem) {
  if (start.is_resume || !start.config.model_store.is_set()) return;
  try {
    write_stored_models(start.folder.path, all_models(*open_model_store(start.config.model_store)));
  } catch (const Error& error) {
    problem = std::string("the search does without stored models: ") + error.what();
  }
}

}  // namespace

Advisors make_advisors(const JobStart& start, const MachineCatalogue& catalogue) {
  const JobConfig& config = start.config;
  Advisors advisors;
  if (config.batching.dynamic)
    advisors.all.push_back(std::make_unique<BatchingAdvisor>(batching_settings(config, catalogue)));
  if (searches_size(config) || seeks_machine_type(config.provider))
    keep_stored_models(start, advisors.problem);
  if (searches_size(config)) {
    advisors.all.push_back(std::make_unique<SearchAdvisor>(
        SearchSetting{config, search_grid(config.search), read_stored_models(start.folder.path),
                      machine_pool(config, catalogue)}));
  }
  if (seeks_machine_type(config.provider))
    advisors.all.push_back(std::make_unique<VmAdvisor>(
        vm_race_setting(config, catalogue, read_stored_models(start.folder.path))));
  auto rate = std::make_unique<RateAdvisor>(config.optimizer, kept_rate_factor(start).has_value());
  advisors.rate = rate.get();
  advisors.all.push_back(std::move(rate));
  return advisors;
}

}  // namespace scavenger::elastic
