// How a job's VMs are called and marked, so that this process, the next one after a crash, and a
// person find them again.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/base/random.h"

namespace scavenger::gcp {

inline constexpr const char* kJobLabel = "scavenger-job";
inline constexpr const char* kRoleLabel = "scavenger-role";

// "fashion-mlp-3f2a9c01-worker-3-7b0c11d2": a name is used once, so that a VM which was lost, and
// is still being deleted, never stands in the way of its successor.
std::string vm_name(const std::string& job_id, const std::string& role, std::uint32_t index,
                    std::uint32_t nonce);

std::map<std::string, std::string> vm_labels(const std::string& job_id, const std::string& role);

// The filter that lists a job's VMs, whatever state they are in.
std::string job_filter(const std::string& job_id);
// And that of all jobs'.
std::string any_job_filter();

// Returns a random UUID (version 4). A request that is repeated under its id makes one VM, not two.
std::string request_id(RandomStream& stream);

}  // namespace scavenger::gcp
