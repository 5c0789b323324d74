// VMs that jobs have in the cloud, found by their label whatever became of the job.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cloud_gcp/api/compute_client.h"

namespace scavenger::gcp {

// Of all jobs, or of one (its label, job_id of the ledger); the oldest first. Throws CloudError.
awaitable<std::vector<Instance>> find_job_vms(ComputeClient& client, std::vector<std::string> zones,
                                              std::string job_id);

// Deletes them, all at once. `report` is called for each that is gone (`problem` is empty), or is
// not.
awaitable<void> delete_vms(ComputeClient& client, std::vector<Instance> vms,
                           std::function<void(const Instance&, const std::string& problem)> report);

// A table for people. `now_seconds`: of Unix time.
std::string vm_table(std::span<const Instance> vms, const PriceCatalog& prices, double now_seconds);

}  // namespace scavenger::gcp
