// A look at the VMs that jobs have in the cloud, and their removal by hand: scavenger-ctl gcp.
#pragma once

#include <filesystem>
#include <ostream>

#include "cloud_gcp/provider/gcp_settings.h"
#include "runtime/provider/machine_visit.h"

namespace scavenger::gcp {

// Those of a run folder, or of a configuration. Throws InputError if its machines are not on
// Compute Engine.
GcpSettings settings_of_job(const std::filesystem::path& run_or_config);

// Shows the VMs in the settings' zones, and deletes them if that is allowed. False if some are left
// that were to be deleted. Blocks. Throws InputError and CloudError.
bool visit_job_vms(const GcpSettings& settings, const MachineVisit& visit, std::ostream& out);

}  // namespace scavenger::gcp
