#include "ps/core/kernels.h"

#include <cstdint>

#include "runtime/base/check.h"

// One source is compiled for each instruction set. The pragmas apply only to the definitions below
// them, so that no inline function of the standard library is compiled for an instruction set that
// the machine may lack.

namespace scavenger::ps {
namespace {

// clang, as which clang-tidy reads this file, has other built-in functions and pragmas than gcc.
#if defined(__x86_64__) && !defined(__clang__)
#define SCAVENGER_X86_KERNELS
#endif

constexpr std::size_t kPrefetchFloats = 1024;

bool starts_cache_line(const float* values) {
  return reinterpret_cast<std::uintptr_t>(values) % (kLanes * sizeof(float)) == 0;
}

bool may_stream(const StepBlock& block) {
  return block.streaming && starts_cache_line(block.new_weights) &&
         starts_cache_line(block.new_state[0]) && starts_cache_line(block.new_state[1]);
}

// Streaming stores reach memory in any order, so a fence must precede the flag that announces them.
void finish_streaming() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

namespace portable {
constexpr std::size_t kWidth = 4;
#ifdef SCAVENGER_X86_KERNELS
#define SCAVENGER_STREAM(values, vector) __builtin_ia32_movntps(values, vector)
#else
#define SCAVENGER_STREAM(values, vector) store(values, vector)
#endif
#include "ps/core/kernel_bodies.inc"
#undef SCAVENGER_STREAM
}  // namespace portable

#ifdef SCAVENGER_X86_KERNELS

#pragma GCC push_options
#pragma GCC target("avx2")
namespace avx2 {
constexpr std::size_t kWidth = 8;
#define SCAVENGER_STREAM(values, vector) __builtin_ia32_movntps256(values, vector)
#include "ps/core/kernel_bodies.inc"
#undef SCAVENGER_STREAM
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")
namespace avx512 {
constexpr std::size_t kWidth = 16;
#define SCAVENGER_STREAM(values, vector) __builtin_ia32_movntps512(values, vector)
#include "ps/core/kernel_bodies.inc"
#undef SCAVENGER_STREAM
}  // namespace avx512
#pragma GCC pop_options

#endif

}  // namespace

const Kernels& kernels(InstructionSet set) {
  switch (set) {
    case InstructionSet::kPortable:
      return portable::kKernels;
#ifdef SCAVENGER_X86_KERNELS
    case InstructionSet::kAvx2:
      return avx2::kKernels;
    case InstructionSet::kAvx512:
      return avx512::kKernels;
#else
    default:
      break;
#endif
  }
  check_failed("an instruction set of this build", __FILE__, __LINE__);
}

const Kernels& best_kernels() {
  static const Kernels& best = kernels(supported_instruction_sets().back());
  return best;
}

}  // namespace scavenger::ps
