// The optimizers: how a gradient changes weights. Pure arithmetic on spans of floats.
//
// SGD (momentum, dampening, Nesterov, weight decay), Adam (Kingma and Ba, 2015) and AdamW
// (Loshchilov and Hutter, 2019), in the order of operations of torch.optim, so that results match
// it to rounding.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "ps/core/kernels.h"
#include "runtime/config/job_config.h"

namespace scavenger::ps {

// One span for each name in Optimizer::state_names(), of the same length as the weights; the rest
// empty. Zeros before the first step.
using StateSpans = std::array<std::span<float>, kMaxStateVectors>;

// The same parameters' weights and state.
struct Version {
  std::span<float> weights;
  StateSpans state;

  Version part(std::size_t first, std::size_t size) const;
};

// Everything about one step that is the same for all parameters. A value, cheap to copy.
class OptimizerStep final {
 public:
  // Steps `from` into `to`, which is another version, or the same one; `from` is only read where it
  // is another. Adds the squares of the gradient to kLanes doubles, unless null. Each parameter is
  // stepped by itself: ranges may be cut and ordered in any way without a change of a bit. Requires
  // spans of one length. `streaming`: see StepBlock.
  void apply(std::span<const float> gradient, const Version& from, const Version& to,
             const Kernels& kernels, double* lanes = nullptr, bool streaming = false) const;

 private:
  friend class Optimizer;
  explicit OptimizerStep(SgdStep step) : step_(step) {}
  explicit OptimizerStep(AdamStep step) : step_(step) {}
  std::variant<SgdStep, AdamStep> step_;
};

// The hyperparameters. Thread: const, any thread.
class Optimizer final {
 public:
  explicit Optimizer(const OptimizerConfig& config) : config_(config) {}

  // The vectors of state that it keeps beside the weights, as checkpoints name them: "momentum", or
  // "exp_avg" and "exp_avg_sq", or none. At most kMaxStateVectors.
  std::span<const std::string_view> state_names() const;

  // `step_number` counts the steps taken with this state, from 1. The schedule is the caller's:
  // config.learning_rate is not looked at.
  OptimizerStep step(double learning_rate, std::uint64_t step_number) const;

 private:
  OptimizerConfig config_;
};

}  // namespace scavenger::ps
