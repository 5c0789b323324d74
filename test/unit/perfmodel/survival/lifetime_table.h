// The published lifetimes of preemptible VMs (shared/data/gcp), by zone and machine type.
#pragma once

#include <string>
#include <vector>

#include "perfmodel/survival/kaplan_meier.h"

namespace scavenger::perfmodel {

// The lifetimes in `zone` and of `type`; an empty name stands for all. Empty, with a warning, if
// the data are not here.
std::vector<Lifetime> published_lifetimes(const std::string& zone = "",
                                          const std::string& type = "");

}  // namespace scavenger::perfmodel
