#include "md/pair_kernel.h"

#include <cstdint>

#include "runtime/base/check.h"

// One source is compiled for each instruction set. The pragmas apply only to the definitions below
// them, so that no inline function of the standard library is compiled for an instruction set that
// the machine may lack.

namespace scavenger::md {
namespace {

namespace portable {
constexpr std::size_t kWidth = 4;
#include "md/pair_kernel_bodies.inc"
}  // namespace portable

#if defined(__x86_64__)

#pragma GCC push_options
#pragma GCC target("avx2")
namespace avx2 {
constexpr std::size_t kWidth = 8;
#include "md/pair_kernel_bodies.inc"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")
namespace avx512 {
constexpr std::size_t kWidth = 16;
#include "md/pair_kernel_bodies.inc"
}  // namespace avx512
#pragma GCC pop_options

#endif

}  // namespace

const PairKernels& pair_kernels(InstructionSet set) {
  switch (set) {
    case InstructionSet::kPortable:
      return portable::kKernels;
#if defined(__x86_64__)
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

const PairKernels& best_pair_kernels() {
  static const PairKernels& best = pair_kernels(supported_instruction_sets().back());
  return best;
}

}  // namespace scavenger::md
