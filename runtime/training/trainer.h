// The port for computing gradients: one model on one device. LibTorch implements it
// (runtime/torch); tests and the simulator bring a small model with a known answer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/training/batch.h"
#include "runtime/training/evaluation_sums.h"
#include "runtime/training/sample_memory.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

// Called from inside forward_backward(): gradients at [first, last) of the flat vector are final,
// and the weights at the same places are not read any more in this iteration. Ranges do not overlap
// and together cover the flat vector.
using GradientReady = std::function<void(std::uint64_t first, std::uint64_t last)>;

struct TrainingStep {
  double loss_sum = 0.0;  // the batch's loss (Batch::loss_terms) x its size
  double forward_seconds = 0.0;
  double backward_seconds = 0.0;
};

// Thread: one thread, always the same one.
class Trainer {
 public:
  virtual ~Trainer() = default;

  virtual const TensorLayout& parameters() const = 0;
  // Buffers are state that is not trained by gradients, such as BatchNorm's running statistics, as
  // one flat vector.
  virtual const TensorLayout& buffers() const = 0;

  // From now on the model's parameters are views of this vector of parameters().flat_size() floats,
  // and their gradients of that one, until the next call; their content is left as it is. Both
  // start at a multiple of 64 bytes: where data lie decides which kernels a library takes, and so
  // the last bits of the result. Cheap enough to change the weights in every iteration.
  virtual void use_weights(std::span<float> weights) = 0;
  virtual void use_gradients(std::span<float> gradients) = 0;

  // Whether both vectors are memory of the host, and not of a device.
  virtual bool vectors_are_on_host() const { return true; }

  // Writes the model's initial weights, decided by the job's seed, into the weights in use.
  virtual void write_initial_weights() = 0;

  virtual void read_buffers(std::span<float> destination) const = 0;
  virtual void write_buffers(std::span<const float> source) = 0;

  // Computes the gradient of the batch's loss (Batch::loss_terms) at the weights in use into the
  // gradients in use (which it zeroes first). `random_key` decides dropout and the like. Throws
  // JobError where the loss is not a finite number.
  virtual TrainingStep forward_backward(const Batch& batch, std::uint64_t random_key,
                                        const GradientReady& ready) = 0;

  virtual EvaluationSums evaluate(const Batch& batch) = 0;

  // What the model answers for each sample, as in an evaluation, row-major: a logit of each class,
  // or the values. Nothing where it cannot be asked: models of tokens.
  virtual std::vector<float> answer(const Batch&) { return {}; }

  // Measured at the first batch, where that can be.
  virtual SampleMemory sample_memory() const { return {}; }
};

}  // namespace scavenger
