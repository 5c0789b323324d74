// A plan from its sources: what scavenger-plan prints.
#pragma once

#include <string>

#include "elastic/plan/plan_output.h"
#include "elastic/planning/plan_request.h"
#include "elastic/planning/plan_simulation.h"

namespace scavenger::elastic {

struct MadePlan {
  perfmodel::Plan plan;
  PlanSource source;
};

// Throws InputError for sources that are none, DataError if they say too little, and for machines
// with kUniversal.
MadePlan plan_from(const PlanSources& sources, Knowledge knowledge, const PlanQuestion& question);

// What each search would find and cost if the sources were the truth; if a store is named, also one
// that knows only the other models of the store. Throws as above.
std::string simulate_searches(const PlanSources& sources, const PlanQuestion& question,
                              const SimulationOptions& options);

}  // namespace scavenger::elastic
