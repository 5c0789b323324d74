// What a reader of a plan must know before believing it: units, limits that were set aside, a fit
// that misses its own points, prices that nobody has named. Each is one sentence.
#pragma once

#include <string>
#include <vector>

#include "perfmodel/plan/plan.h"

namespace scavenger::elastic {

// "seconds", or what they are of; see perfmodel::PlanBasis.
std::string time_unit_text(const perfmodel::Plan& plan);
// "dollars", or "worker-hours" if no price is known.
std::string cost_unit_text(const perfmodel::Plan& plan);

// What times and costs are of, if that is not the whole job; what is missing, and what it would
// add.
std::vector<std::string> unit_notes(const perfmodel::Plan& plan);

// What stands beside the choice.
std::vector<std::string> choice_warnings(const perfmodel::Plan& plan);

}  // namespace scavenger::elastic
