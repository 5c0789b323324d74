// What a process of a job is for.
#pragma once

#include <array>

#include "runtime/vocabulary/word.h"

namespace scavenger {

// Decision logs hold the numbers: add at the end.
enum class Role { kWorker, kShard };

inline constexpr std::array<Named<Role>, 2> kRoles{{
    {Role::kWorker, "worker"},
    {Role::kShard, "shard"},
}};
static_assert(is_complete(kRoles, Role::kShard));

constexpr const auto& table_of(Role) {
  return kRoles;
}

}  // namespace scavenger
