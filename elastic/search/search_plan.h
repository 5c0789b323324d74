// From what a run has measured, and what earlier runs have left, to what every candidate would
// take.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/plan/measured_configurations.h"
#include "perfmodel/plan/plan.h"
#include "perfmodel/store/model_record.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// What every search of this job asks for: candidates, policy, price, limits. If workers have no
// price, one worker-hour counts as a dollar. The limits on time and cost hold for the whole job,
// and only count where epochs are known.
perfmodel::PlanRequest make_search_request(const JobConfig& config,
                                           const perfmodel::MachinePool& machines,
                                           const RunNumbers& numbers,
                                           std::span<const perfmodel::Configuration> candidates);

// From this run's measurements, with the epochs that earlier runs of the same model, data,
// optimizer and target have taken. Throws DataError if that is too little.
perfmodel::Plan plan_from_measurements(const perfmodel::PlanRequest& request,
                                       std::span<const MeasuredConfiguration> measured,
                                       const RunNumbers& numbers,
                                       std::span<const perfmodel::ModelRecord> stored);

struct StoredPlan {
  perfmodel::Plan plan;
  std::string source;  // for people: which model, or how many
};

// From the stored model that is most similar of those that say enough. Throws DataError if none
// does: what the most similar one lacks.
StoredPlan plan_from_most_similar(const perfmodel::PlanRequest& request,
                                  const perfmodel::ModelSignature& signature,
                                  std::span<const perfmodel::ModelRecord> stored);

// From the mean of all stored models. Throws DataError if fewer than two say enough.
StoredPlan plan_from_all(const perfmodel::PlanRequest& request,
                         std::span<const perfmodel::ModelRecord> stored);

fact::Prediction make_prediction(const perfmodel::Plan& plan, const RunNumbers& numbers);

}  // namespace scavenger::elastic
