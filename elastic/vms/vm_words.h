// What text and page of a plan both say. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "elastic/vms/vm_plan.h"

namespace scavenger::elastic {

std::string vm_duration_text(double seconds);  // "12 ms", "1.5 s", "90 s", "45 min", "3.5 h"
// That a limit holds: "93 %", or "-" if there is no such limit.
std::string vm_probability_text(double probability, const std::optional<double>& limit);
// The choice, its deadline, the fall-backs and the next probe; or what stands in the way.
std::vector<std::string> vm_decision_lines(const VmPlan& plan);

}  // namespace scavenger::elastic
