#include "cloud_gcp/api/identity.h"

#include <fmt/format.h>

namespace scavenger::gcp {

std::string vm_name(const std::string& job_id, const std::string& role, std::uint32_t index,
                    std::uint32_t nonce) {
  return fmt::format("{}-{}-{}-{:08x}", job_id, role, index, nonce);
}

std::map<std::string, std::string> vm_labels(const std::string& job_id, const std::string& role) {
  return {{kJobLabel, job_id}, {kRoleLabel, role}};
}

std::string job_filter(const std::string& job_id) {
  return fmt::format("labels.{} = {}", kJobLabel, job_id);
}

std::string any_job_filter() {
  return fmt::format("labels.{}:*", kJobLabel);
}

std::string request_id(RandomStream& stream) {
  const std::uint64_t high = (stream.bits() & ~0xf000ULL) | 0x4000ULL;  // version 4
  const std::uint64_t low =
      (stream.bits() & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;  // RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffffULL);
}

}  // namespace scavenger::gcp
