#include "kubernetes/api/names.h"

#include <fmt/format.h>

#include "runtime/http/url.h"

namespace scavenger::kubernetes {

std::string pod_name(const std::string& job_id, std::uint32_t worker, std::uint32_t nonce) {
  return fmt::format("{}-worker-{}-{:08x}", job_id, worker, nonce);
}

std::string job_query(const std::string& job_id) {
  const std::string selector = job_id.empty() ? kJobLabel : fmt::format("{}={}", kJobLabel, job_id);
  return "labelSelector=" + percent_encoded(selector);
}

}  // namespace scavenger::kubernetes
