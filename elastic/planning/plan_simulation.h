// scavenger-plan --simulate: what each way of searching would find and cost, were the table true.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "perfmodel/plan/plan.h"

namespace scavenger::elastic {

struct SimulationOptions {
  int seeds = 20;
  double resize_seconds = 37.0;
  std::uint32_t cold_start_iterations = 1000;  // the paper's
};

// Configurations count of which seconds per iteration, epochs and noise are known. "None" has the
// job's own model; "universal" the mean of the others', and is left out if there are none.
// Throws DataError where configurations are too few.
std::string simulation_text(const perfmodel::PlanRequest& request,
                            std::span<const perfmodel::PlanRequest> others,
                            const SimulationOptions& options);

}  // namespace scavenger::elastic
