// The inner loops over floats, once for each instruction set, chosen at run time.
//
// Every set gives the same bits. Elementwise, because each float goes through the same IEEE
// operations in the same order, none of them fused. In the sums of squares, because float i of a
// chunk is always added to lane i % kLanes, whatever the width of the machine's registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scavenger::ps {

enum class InstructionSet { kPortable, kAvx2, kAvx512 };

const char* name(InstructionSet set);
// What this machine can run, kPortable first, the fastest last.
std::vector<InstructionSet> supported_instruction_sets();

// A sum of squares is kept in kLanes doubles. Squares are taken, and runs of kRunFloats / kLanes of
// them added, in float, since widening each float to double would cost more than all the rest: the
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
  bool continued = false;  // add to what is in sum already
  std::size_t n = 0;       // length of the gradients and of sum
  float* sum = nullptr;
  double* lanes = nullptr;  // squares of the gradients are added here, kLanes for each; or null
};

inline constexpr std::size_t kMaxStateVectors = 2;

// What an optimizer steps: weights and state of the same n parameters as the gradient, from one
// version to another, or in place where both are the same.
struct StepBlock {
  const float* gradient = nullptr;
  std::size_t n = 0;
  const float* weights = nullptr;
  const float* state[kMaxStateVectors] = {};  // SGD: momentum, or none; Adam: exp_avg, exp_avg_sq
  float* new_weights = nullptr;
  float* new_state[kMaxStateVectors] = {};
  double* lanes = nullptr;  // squares of the gradient are added here; or null
  // Write past the caches, for models that do not fit there: it saves reading what is overwritten.
  // Where the new weights and state start at multiples of 64 bytes; elsewhere it is ignored.
  bool streaming = false;
};

// SGD with momentum as torch.optim.SGD; the fields are what is multiplied by, in float.
struct SgdStep {
  float weight_decay = 0.0F;
  float momentum = 0.0F;
  float one_minus_dampening = 1.0F;  // 1 in the first step, whose momentum is all zeros
  float minus_learning_rate = 0.0F;
  bool nesterov = false;
};

// Adam and AdamW as torch.optim.Adam, AdamW.
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

// n need not be a multiple of anything; but of the calls that add to the same lanes only the last
// may have an n that is not a multiple of kRunFloats. Pointers need no alignment. What is written
// overlaps nothing that is read, other than itself.
struct Kernels {
  void (*sum)(const SumBlock& block);
  void (*plain_sgd)(const SgdStep& step, const StepBlock& block);
  void (*momentum_sgd)(const SgdStep& step, const StepBlock& block);
  void (*adam)(const AdamStep& step, const StepBlock& block);
  // Rounds to the nearest, of two equally near to the even one; beyond the largest: infinite. NaN
  // stays NaN.
  void (*to_bfloat16)(const float* from, Bfloat16* to, std::size_t n);
  void (*from_bfloat16)(const Bfloat16* from, float* to, std::size_t n);
};

// Requires that the machine supports it.
const Kernels& kernels(InstructionSet set);
// Of the fastest set that the machine supports.
const Kernels& best_kernels();

}  // namespace scavenger::ps
