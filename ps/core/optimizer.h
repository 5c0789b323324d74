// The optimizers, as pure arithmetic on spans of floats.
//
// SGD (momentum, dampening, Nesterov, weight decay), Adam (Kingma and Ba, 2015) and AdamW
// (Loshchilov and Hutter, 2019), with the order of operations of torch.optim, so that results equal
// its results up to rounding.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ps/core/kernels.h"
#include "runtime/config/job_config.h"

namespace scavenger::ps {

// One span for each name in Optimizer::state_names(), with the length of the weights; the others
// are empty. The values are zero before the first step.
using StateSpans = std::array<std::span<float>, kMaxStateVectors>;

// Weights and optimizer state of the same parameters.
struct Version {
  std::span<float> weights;
  StateSpans state;

  Version part(std::size_t first, std::size_t size) const;
};

// The parts of one step that are the same for all parameters. A value, cheap to copy.
class OptimizerStep final {
 public:
  // Steps `from` into `to`, which may be the same version. Adds the squares of the gradient to
  // kLanes doubles, unless `lanes` is null. Each parameter is stepped independently, so that ranges
  // may be divided and ordered in any way with bitwise equal results. Requires spans of the same
  // length. `streaming`: see StepBlock.
  void apply(std::span<const float> gradient, const Version& from, const Version& to,
             const Kernels& kernels, double* lanes = nullptr, bool streaming = false) const;

 private:
  friend class Optimizer;
  explicit OptimizerStep(SgdStep step) : step_(step) {}
  explicit OptimizerStep(AdamStep step) : step_(step) {}
  std::variant<SgdStep, AdamStep> step_;
};

// An optimizer with its hyperparameters. Thread: const, any thread.
class Optimizer final {
 public:
  explicit Optimizer(const OptimizerConfig& config) : config_(config) {}

  // Returns the names of its state vectors, as in checkpoints: "momentum", or "exp_avg" and
  // "exp_avg_sq", or none. At most kMaxStateVectors.
  std::span<const std::string_view> state_names() const;

  // Returns a step. `step_number` counts the steps with this state, from 1. The caller applies the
  // schedule; config.learning_rate is not used.
  OptimizerStep step(double learning_rate, std::uint64_t step_number) const;

 private:
  OptimizerConfig config_;
};

// Returns the names of an optimizer's state vectors, also of one that the workers step in Python,
// which `Optimizer` does not have.
std::vector<std::string> state_names_of(const OptimizerConfig& config);

}  // namespace scavenger::ps
