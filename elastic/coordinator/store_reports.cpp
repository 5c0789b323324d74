#include "elastic/coordinator/store_reports.h"

#include "elastic/model_service/open_store.h"
#include "elastic/plan/run_record.h"
#include "elastic/plan/stored_fit.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

namespace scavenger::elastic {
namespace {

constexpr double kStorePeriodSeconds = 10.0;
constexpr double kStorePatienceSeconds = 15.0;  // at the end of the job

}  // namespace

StoreReports::StoreReports(const JobConfig& config, const Clock& clock)
    : config_(config),
      clock_(clock),
      feeder_([store = config.model_store] { return open_model_store(store); }) {}

void StoreReports::offer(const RunNumbers& numbers) {
  last_seconds_ = clock_.now_seconds();
  if (!numbers.model) return;
  perfmodel::ModelRecord record = record_of(config_, numbers, machine_type(config_, numbers));
  if (!record.times.empty()) feeder_.offer(std::move(record));
}

std::optional<std::string> StoreReports::tick(const RunNumbers& numbers) {
  if (clock_.now_seconds() - last_seconds_ > kStorePeriodSeconds) offer(numbers);
  return feeder_.take_problem();
}

void StoreReports::close(const RunNumbers& numbers) {
  offer(numbers);
  if (!feeder_.finish(kStorePatienceSeconds))
    return log_warning("the store has not taken the last measurements within {:g} s",
                       kStorePatienceSeconds);
  if (const auto problem = feeder_.take_problem())
    return log_warning("measurements could not be stored: {}", *problem);
  try {
    refresh_fit(*open_model_store(config_.model_store), signature_of(config_, numbers).id());
  } catch (const Error& error) {
    log_warning("the stored model was not fitted: {}", error.what());
  }
}

}  // namespace scavenger::elastic
