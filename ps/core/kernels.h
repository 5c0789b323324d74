// The inner loops over floats, once for each instruction set, chosen at run time.
//
// Every set gives the same bits. Elementwise, because each float goes through the same IEEE
// operations in the same order, none of them fused. In the sums of squares, because float i of a
// chunk is always added to lane i % kLanes, whatever the width of the machine's registers.
#pragma once

#include <cstddef>
#include <vector>

namespace scavenger::ps {

enum class InstructionSet { kPortable, kAvx2, kAvx512 };

const char* name(InstructionSet set);
// What this machine can run, kPortable first, the fastest last.
std::vector<InstructionSet> supported_instruction_sets();

inline constexpr std::size_t kLanes = 16;  // doubles of a partial sum of squares

// SGD with momentum as torch.optim.SGD; the fields are what is multiplied by, in float.
struct SgdStep {
  float weight_decay = 0.0F;
  float momentum = 0.0F;
  float one_minus_dampening = 1.0F;
  float minus_learning_rate = 0.0F;
  bool nesterov = false;
  bool first = false;  // the momentum buffer does not exist yet
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

// n need not be a multiple of anything, but only the last call over a chunk may have an n that is
// not a multiple of kLanes. Pointers need no alignment; no two of them overlap, except that
// `gradient` of a step may not be written at all. `lanes` points to kLanes doubles.
struct Kernels {
  // sum = share * gradient, or sum = sum + share * gradient. Where lanes is not null, also
  // lanes[i % kLanes] += gradient[i]^2.
  void (*set_scaled)(const float* gradient, float share, std::size_t n, float* sum, double* lanes);
  void (*add_scaled)(const float* gradient, float share, std::size_t n, float* sum, double* lanes);
  void (*add_squares)(const float* values, std::size_t n, double* lanes);
  void (*plain_sgd)(const SgdStep& step, const float* gradient, std::size_t n, float* weights);
  void (*momentum_sgd)(const SgdStep& step, const float* gradient, std::size_t n, float* weights,
                       float* momentum);
  void (*adam)(const AdamStep& step, const float* gradient, std::size_t n, float* weights,
               float* exp_avg, float* exp_avg_sq);
};

// Requires that the machine supports it.
const Kernels& kernels(InstructionSet set);
// Of the fastest set that the machine supports.
const Kernels& best_kernels();

}  // namespace scavenger::ps
