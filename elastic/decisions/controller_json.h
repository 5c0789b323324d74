// The controller's two languages, and what it starts from, as JSON: for decisions.jsonl
// (docs/events.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "elastic/control/controller.h"

namespace scavenger::elastic {

// ["iterations_done", 1, 500]: the name, then the fields in the order of job_events.h.
nlohmann::json to_json(const ControllerEvent& event);
nlohmann::json to_json(const ControllerAction& action);
// Reads what to_json() wrote. Throws InputError for anything else.
ControllerEvent controller_event_from(const nlohmann::json& written, const std::string& where);

// What of a plan is not in the job's configuration.
nlohmann::json to_json(const ControllerPlan& plan);
// The plan of a job with this configuration. Throws InputError.
ControllerPlan controller_plan_from(const nlohmann::json& written, const JobConfig& config,
                                    const std::string& where);

}  // namespace scavenger::elastic
