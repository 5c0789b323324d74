#include "elastic/plan/stored_fit.h"

#include "elastic/plan/observed_request.h"
#include "elastic/plan/plan_output.h"
#include "perfmodel/store/observations.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {

void refresh_fit(perfmodel::ModelStore& store, const std::string& id) {
  const auto record = store.find(id);
  if (!record) return;
  std::string fit;
  try {
    const perfmodel::Observations observed = perfmodel::observations_of(*record);
    perfmodel::PlanRequest request;
    set_observations(observed, request);
    request.samples_per_epoch = static_cast<double>(record->signature.samples_per_epoch);
    request.price.worker_per_hour = record->price_per_worker_hour;
    request.candidates = perfmodel::natural_candidates(request.times, request.epochs);
    fit = plan_json(
        perfmodel::make_plan(request),
        {record->name, "machine " + observed.machine + ", target " + observed.target, {}});
  } catch (const DataError&) {  // too few observations as yet
    return;
  }
  store.record_fit(id, fit);
}

}  // namespace scavenger::elastic
