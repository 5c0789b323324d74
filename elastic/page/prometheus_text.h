// A job's numbers in Prometheus' text format; docs/page.md lists the names.
#pragma once

#include <string>

#include "elastic/page/run_history.h"

namespace scavenger::elastic {

std::string prometheus_text(const RunHistory& history);

}  // namespace scavenger::elastic
