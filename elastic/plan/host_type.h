// The machine type of jobs whose workers share the controller's machine, which nobody rented: its
// cores and processor, such as "2 x AMD EPYC". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "elastic/events/event.h"

namespace scavenger::elastic {

std::string host_type(const fact::Host& host);

// Cores of a machine that host_type() has named; nothing if this is another name.
std::optional<double> cores_of_host_type(std::string_view type);

}  // namespace scavenger::elastic
