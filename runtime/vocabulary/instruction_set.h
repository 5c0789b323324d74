// The vector instructions that numeric kernels are compiled for. A program selects a set when it
// runs; all sets of a kernel give the same bits.
#pragma once

#include <array>
#include <vector>

#include "runtime/vocabulary/word.h"

namespace scavenger {

enum class InstructionSet { kPortable, kAvx2, kAvx512 };

inline constexpr std::array<Named<InstructionSet>, 3> kInstructionSets{{
    {InstructionSet::kPortable, "portable"},
    {InstructionSet::kAvx2, "AVX2"},
    {InstructionSet::kAvx512, "AVX-512"},
}};
static_assert(is_complete(kInstructionSets, InstructionSet::kAvx512));

constexpr const auto& table_of(InstructionSet) {
  return kInstructionSets;
}

// Returns the sets that this machine supports, kPortable first, the fastest last.
inline std::vector<InstructionSet> supported_instruction_sets() {
  std::vector<InstructionSet> sets = {InstructionSet::kPortable};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) sets.push_back(InstructionSet::kAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    sets.push_back(InstructionSet::kAvx512);
  }
#endif
  return sets;
}

}  // namespace scavenger
