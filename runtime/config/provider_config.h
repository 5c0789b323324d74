// The provider section of a job's configuration: where its machines come from (docs/providers.md).
#pragma once

#include <array>
#include <string>

namespace scavenger {

enum class ProviderType { kLocal, kEmulated, kSsh, kSlurm, kGcp, kKubernetes };
inline constexpr std::array kProviderTypes = {ProviderType::kLocal, ProviderType::kEmulated,
                                              ProviderType::kSsh,   ProviderType::kSlurm,
                                              ProviderType::kGcp,   ProviderType::kKubernetes};

// Returns the value of `provider.type`. The switch has no default, so that the compiler reports a
// missing case.
constexpr const char* name_of(ProviderType type) {
  switch (type) {
    case ProviderType::kLocal:
      return "local";
    case ProviderType::kEmulated:
      return "emulated";
    case ProviderType::kSsh:
      return "ssh";
    case ProviderType::kSlurm:
      return "slurm";
    case ProviderType::kGcp:
      return "gcp";
    case ProviderType::kKubernetes:
      return "kubernetes";
  }
  return "";
}

// The configuration's object `provider`. `settings` is this object as JSON, checked and completed
// by its schema; each provider reads its own settings from it.
struct ProviderConfig {
  ProviderType type = ProviderType::kLocal;
  bool spot = false;  // machines that may be preempted, and cost less
  std::string settings = R"({"type":"local"})";

  // Returns whether workers run on machines of their own.
  bool is_remote() const { return type != ProviderType::kLocal; }
  bool operator==(const ProviderConfig&) const = default;
};

}  // namespace scavenger
