#include "runtime/provider/machine.h"

namespace scavenger {

std::string name_of(RefusalKind kind) {
  switch (kind) {
    case RefusalKind::kCapacity:
      return "capacity";
    case RefusalKind::kQuota:
      return "quota";
    case RefusalKind::kRate:
      return "rate";
    case RefusalKind::kUnreachable:
      return "unreachable";
    case RefusalKind::kInvalid:
      return "invalid";
    case RefusalKind::kPermission:
      return "permission";
    case RefusalKind::kBroken:
      return "broken";
  }
  return {};
}

}  // namespace scavenger
