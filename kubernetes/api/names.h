// How a job's Pods are called and marked, so that this process, the next one after a crash, and a
// person find them again. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace scavenger::kubernetes {

inline constexpr const char* kJobLabel = "scavenger.dev/job";
inline constexpr const char* kWorkerLabel = "scavenger.dev/worker";

// "fashion-mlp-3f2a9c01-worker-3-7b0c11d2". A name is used once, so that a Pod that is still being
// deleted never stands in the way of its successor.
std::string pod_name(const std::string& job_id, std::uint32_t worker, std::uint32_t nonce);

// "labelSelector=..." that lists a job's Pods; of any job if `job_id` is empty.
std::string job_query(const std::string& job_id);

}  // namespace scavenger::kubernetes
