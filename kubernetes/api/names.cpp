#include "kubernetes/api/names.h"

#include <fmt/format.h>

#include <cctype>
#include <span>

#include "runtime/base/random.h"
#include "runtime/http/url.h"

namespace scavenger::kubernetes {
namespace {

constexpr std::size_t kNameCharacters = 25;  // of the job's own name; with the rest below 63

// Letters in lower case, digits and single dashes, beginning with a letter (RFC 1123).
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 && byte < 128)
      name += static_cast<char>(std::tolower(byte));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name.front())) == 0)
    name.insert(0, "job-");
  if (name.size() > kNameCharacters) name.resize(kNameCharacters);
  while (name.ends_with('-')) name.pop_back();
  return name;
}

}  // namespace

std::string cluster_job_id(std::string_view job_name, std::uint32_t nonce) {
  return fmt::format("{}-{:08x}", plain_name(job_name), nonce);
}

std::string pod_name(const std::string& job_id, std::uint32_t worker, std::uint32_t nonce) {
  return fmt::format("{}-worker-{}-{:08x}", job_id, worker, nonce);
}

std::string job_query(const std::string& job_id) {
  const std::string selector = job_id.empty() ? kJobLabel : fmt::format("{}={}", kJobLabel, job_id);
  return "labelSelector=" + percent_encoded(selector);
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  fill_with_secret_bytes(std::as_writable_bytes(std::span(&seed, 1)));
  return seed;
}

}  // namespace scavenger::kubernetes
