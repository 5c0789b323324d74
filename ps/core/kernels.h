// The inner loops over floats, compiled for each instruction set and selected at run time.
//
// All sets give the same bits. In elementwise operations, each float passes the same IEEE
// operations in the same order, none of them fused. In sums of squares, float i of a chunk is
// always added to lane i % kLanes, whatever the width of the machine's registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/vocabulary/instruction_set.h"

namespace scavenger::ps {

// A sum of squares is kept in kLanes doubles. Squares, and sums of kRunFloats / kLanes of them, are
// computed in float, since widening each float to double would cost more than everything else. The
// relative error stays below 32 x 2^-24, and is far smaller for the many runs of a gradient. Values
// beyond 1e19 give an infinite sum; those below 1e-23 count as zero.
inline constexpr std::size_t kLanes = 16;
inline constexpr std::size_t kRunFloats = 32 * kLanes;

inline constexpr std::size_t kRanksPerPass = 4;

// sum = [sum +] shares[0] * gradients[0] + shares[1] * gradients[1] ..., in this order.
struct SumBlock {
  const float* gradients[kRanksPerPass] = {};
  float shares[kRanksPerPass] = {};
  std::size_t ranks = 0;   // 1 to kRanksPerPass
  bool continued = false;  // add to the present content of sum
  std::size_t n = 0;       // length of the gradients and of sum
  float* sum = nullptr;
  double* lanes = nullptr;  // kLanes for each gradient, to which its squares are added; or null
};

inline constexpr std::size_t kMaxStateVectors = 2;

// The data of an optimizer's step: weights and state of the n parameters of the gradient, from one
// version to another, or in place if both are the same.
struct StepBlock {
  const float* gradient = nullptr;
  std::size_t n = 0;
  const float* weights = nullptr;
  const float* state[kMaxStateVectors] = {};  // SGD: momentum, or none; Adam: exp_avg, exp_avg_sq
  float* new_weights = nullptr;
  float* new_state[kMaxStateVectors] = {};
  double* lanes = nullptr;  // the squares of the gradient are added to it; or null
  // Write past the caches, for models that do not fit there; this avoids reading the memory that is
  // overwritten. Ignored unless the new weights and state start at multiples of 64 bytes.
  bool streaming = false;
};

// SGD with momentum like torch.optim.SGD. The fields are the factors, in float.
struct SgdStep {
  float weight_decay = 0.0F;
  float momentum = 0.0F;
  float one_minus_dampening = 1.0F;  // 1 in the first step, whose momentum is all zeros
  float minus_learning_rate = 0.0F;
  bool nesterov = false;
};

// Adam and AdamW like torch.optim.Adam and AdamW.
struct AdamStep {
  float weight_decay = 0.0F;  // added to the gradient (Adam); 0 for AdamW
  float weight_scale = 1.0F;  // multiplies the weights first (AdamW); 1 for Adam
  float beta1 = 0.0F;
  float one_minus_beta1 = 1.0F;
  float beta2 = 0.0F;
  float one_minus_beta2 = 1.0F;
  float sqrt_bias_correction2 = 1.0F;
  float epsilon = 0.0F;
  float minus_step_size = 0.0F;
};

// bfloat16: the upper half of a float, with its exponent and 8 bits of precision.
using Bfloat16 = std::uint16_t;

// n may have any value; but among the calls that add to the same lanes, only the last may have an n
// that is not a multiple of kRunFloats. Pointers need no alignment. Requires that outputs overlap
// no inputs, except that both may be the same.
struct Kernels {
  void (*sum)(const SumBlock& block);
  void (*plain_sgd)(const SgdStep& step, const StepBlock& block);
  void (*momentum_sgd)(const SgdStep& step, const StepBlock& block);
  void (*adam)(const AdamStep& step, const StepBlock& block);
  // Rounds to the nearest number, and ties to the even one; too large numbers become infinite. NaN
  // stays NaN.
  void (*to_bfloat16)(const float* from, Bfloat16* to, std::size_t n);
  void (*from_bfloat16)(const Bfloat16* from, float* to, std::size_t n);
};

// Requires that the machine supports it.
const Kernels& kernels(InstructionSet set);
// Returns the kernels of the fastest set that the machine supports.
const Kernels& best_kernels();

}  // namespace scavenger::ps
