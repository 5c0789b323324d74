// Strict whole numbers in a checkpoint's JSON files; the JSON library would convert any number
// silently.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "runtime/checkpoint/checkpoint_manifest.h"

namespace scavenger {

// Throws CheckpointError if `value` is not a whole number in the range of `Unsigned`.
template <typename Unsigned, typename Json>
Unsigned whole_number(const Json& value, const std::string& where) {
  if (!value.is_number_unsigned() ||
      value.template get<std::uint64_t>() > std::numeric_limits<Unsigned>::max())
    throw_damaged(where, "lacks a whole number where one belongs");
  return value.template get<Unsigned>();
}

}  // namespace scavenger
