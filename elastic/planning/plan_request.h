// What is asked of the models: from what is known of a job, and what the user wants to know, to a
// request for a plan. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "elastic/planning/plan_machines.h"
#include "elastic/planning/plan_sources.h"
#include "perfmodel/plan/plan.h"
#include "perfmodel/store/observations.h"

namespace scavenger::elastic {

// Dollars per hour.
struct NamedPrices {
  std::optional<double> per_worker;  // else as recorded
  double fixed = 0.0;                // for all else
  bool bills_exactly = false;        // without a first minute and whole seconds
};

struct PlanQuestion {
  Policy policy = Policy::kKnee;
  // max_local_batch: else what the runs' workers have measured.
  perfmodel::Constraints constraints;
  // What to choose from; empty: what follows from the measurements.
  std::vector<double> workers, batch_sizes;
  std::vector<NamedMachines> machines;  // empty: all alike
  perfmodel::Sharing sharing = perfmodel::Sharing::kDynamic;
  NamedPrices prices;
  std::optional<double> samples_per_epoch;  // else as recorded
  std::optional<double> noise_scale;        // else as measured
  perfmodel::RowFilter filter;
  bool needs_noise = false;  // throw rather than plan for one epoch, if epochs cannot be known
};

struct DescribedRequest {
  perfmodel::PlanRequest request;
  std::string details;  // what was taken, for people: "machine e2-standard-4, $0.13 per worker ..."
};

// Throws InputError for machines whose speed is not known, DataError if the filter leaves nothing.
DescribedRequest make_request(const PlanQuestion& question, const KnownModel& model);

}  // namespace scavenger::elastic
