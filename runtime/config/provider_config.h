// Where a job's machines come from (docs/providers.md).
#pragma once

#include <string>

namespace scavenger {

enum class ProviderType { kLocal, kEmulated, kSsh, kSlurm, kGcp };

// Each provider has settings of its own, and reads them from here: the configuration's object
// `provider`, checked and completed by its schema, as JSON.
struct ProviderConfig {
  ProviderType type = ProviderType::kLocal;
  bool spot = false;  // its machines may be taken away, and cost less
  std::string settings = R"({"type":"local"})";

  // Workers run on machines of their own.
  bool is_remote() const { return type != ProviderType::kLocal; }
  bool operator==(const ProviderConfig&) const = default;
};

}  // namespace scavenger
