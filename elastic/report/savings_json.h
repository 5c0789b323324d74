// Savings as report.json and the page's data have them (docs/report.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

nlohmann::ordered_json savings_json(const RunNumbers& numbers);

}  // namespace scavenger::elastic
