// scavenger-plan --simulate: what each way of searching would find and cost, were the table true.
#pragma once

#include <string>

#include "perfmodel/plan.h"

namespace scavenger {

// Configurations count of which seconds per iteration, epochs and noise are known. Throws DataError
// where these are too few.
std::string simulation_text(const perfmodel::PlanRequest& request, int seeds,
                            double resize_seconds);

}  // namespace scavenger
