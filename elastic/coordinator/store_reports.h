// Brings a job's measurements to the store that its configuration names, now and then and at its
// end.
#pragma once

#include <optional>
#include <string>

#include "elastic/coordinator/store_feeder.h"
#include "elastic/history/run_numbers.h"
#include "runtime/base/clock.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Thread: one.
class StoreReports final {
 public:
  // Requires config.model_store.is_set(). Both must outlive it.
  StoreReports(const JobConfig& config, const Clock& clock);

  // Offers what was measured if it is time for that. Returns why the last offer was not taken, once
  // for each reason.
  std::optional<std::string> tick(const RunNumbers& numbers);
  // The event log has ended: offers all of it, waits a while, and fits the stored model anew. What
  // goes wrong is told in this process's log.
  void close(const RunNumbers& numbers);

 private:
  void offer(const RunNumbers& numbers);

  const JobConfig& config_;
  const Clock& clock_;
  double last_seconds_ = 0.0;
  StoreFeeder feeder_;
};

}  // namespace scavenger::elastic
