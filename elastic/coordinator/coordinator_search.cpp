// The coordinator's part that searches for K and B while the job trains.
#include <fmt/format.h>

#include <utility>

#include "elastic/coordinator/coordinator.h"
#include "elastic/model_service/open_store.h"
#include "elastic/search/machine_pool.h"
#include "elastic/search/search_grid.h"
#include "elastic/search/stored_models.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {

void Coordinator::begin_search() {
  if (start_.config.search.mode == SearchMode::kOff) return;
  if (!start_.is_resume && start_.config.model_store.is_set()) {
    try {
      write_stored_models(start_.folder.path,
                          all_models(*open_model_store(start_.config.model_store)));
    } catch (const Error& error) {
      record_.log(
          fact::Warning{std::string("the search does without stored models: ") + error.what()});
    }
  }
  search_ = SearchSetting{start_.config, search_grid(start_.config.search),
                          read_stored_models(start_.folder.path),
                          machine_pool(start_.config, provider_->catalogue())};
  const auto& steps = record_.numbers().search_steps;
  const Membership& first = controller_.membership();
  if (steps.total > 0 && (steps.latest.back().fact.workers != first.workers() ||
                          steps.latest.back().fact.batch_size != first.batch_size))
    end_search(first.workers(), first.batch_size, "resumed with another K or B than was sought");
}

// Only when iterations were logged, and from nothing but what was logged: a replay of the log does
// the same.
void Coordinator::continue_search() {
  if (!search_) return;
  for (RunEvent& event : elastic::continue_search(*search_, record_.numbers())) {
    std::optional<fact::SearchStep> step;
    if (const auto* found = std::get_if<fact::SearchStep>(&event)) step = *found;
    record_.log(std::move(event));
    if (step && (step->workers != controller_.wanted_workers() ||
                 step->batch_size != controller_.wanted_batch_size()))
      want(step->workers, step->batch_size, "search: " + step->reason);
  }
}

// Somebody else has decided.
void Coordinator::end_search(std::uint32_t workers, std::uint32_t batch_size,
                             const std::string& reason) {
  if (!search_) return;
  for (RunEvent& event : elastic::end_search(record_.numbers(), workers, batch_size, reason))
    record_.log(std::move(event));
}

// A resumed job goes on as it was last told.
void Coordinator::want(std::uint32_t workers, std::uint32_t batch_size, const std::string& reason) {
  JobConfig config = start_.config;
  config.cluster.workers = workers;
  config.batch_size = batch_size;
  write_config(start_.folder, config);
  const double factor = batch_size == controller_.wanted_batch_size()
                            ? controller_.wanted_rate_factor()
                            : rate_factor_for(batch_size);
  feed_later(ReshapeWanted{workers, batch_size, reason, factor});
}

}  // namespace scavenger::elastic
