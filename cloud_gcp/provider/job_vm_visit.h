// A look at the VMs that jobs have in the cloud, and their removal by hand: scavenger-ctl gcp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

#include "cloud_gcp/provider/gcp_settings.h"

namespace scavenger::gcp {

// Those of a run folder, or of a configuration. Throws InputError if its machines are not on
// Compute Engine.
GcpSettings settings_of_job(const std::filesystem::path& run_or_config);

struct VmVisit {
  std::string job;  // only of this one, by its label; empty: of all
  // Whether to delete so many VMs. Empty: nothing is deleted.
  std::function<bool(std::size_t count)> may_delete;
};

// Shows the VMs in the settings' zones, and deletes them if that is allowed. False if some are left
// that were to be deleted. Blocks. Throws InputError and CloudError.
bool visit_job_vms(const GcpSettings& settings, const VmVisit& visit, std::ostream& out);

}  // namespace scavenger::gcp
