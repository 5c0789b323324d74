// The machine types that scavenger-plan chooses from: a file of them, or those of a job's provider.
#pragma once

#include <filesystem>
#include <vector>

#include "elastic/vms/vm_types.h"

namespace scavenger::elastic {

// `place`: a CSV file (read_vm_types()), or a run folder or a configuration (*.json), whose
// provider says what machines there are. Throws InputError if that is none of these, or if no
// machine of the provider has a type and a price.
std::vector<VmType> vm_types_at(const std::filesystem::path& place);

}  // namespace scavenger::elastic
