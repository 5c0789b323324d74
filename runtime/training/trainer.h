// The port for computing gradients of one model on one device. LibTorch implements it
// (runtime/torch); tests use a small model with a known result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/training/batch.h"
#include "runtime/training/device_use.h"
#include "runtime/training/evaluation_sums.h"
#include "runtime/training/sample_memory.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

// Called within forward_backward(): the gradients at [first, last) of the flat vector are final,
// and the weights there are not read again in this iteration. The ranges do not overlap, and
// together cover the flat vector.
using GradientReady = std::function<void(std::uint64_t first, std::uint64_t last)>;

struct TrainingStep {
  double loss_sum = 0.0;  // the batch's loss (Batch::loss_terms) x its size
  double forward_seconds = 0.0;
  double backward_seconds = 0.0;
  double data_wait_seconds = 0.0;  // for samples that the trainer itself had to wait for
};

// Thread: always the same thread, except for expect().
class Trainer {
 public:
  virtual ~Trainer() = default;

  virtual const TensorLayout& parameters() const = 0;
  // Buffers are state that gradients do not train, such as BatchNorm's running statistics. They are
  // one flat vector.
  virtual const TensorLayout& buffers() const = 0;

  // Makes the model's parameters, or their gradients, views of this vector of
  // parameters().flat_size() floats until the next call. The content is not changed. Require a
  // start at a multiple of 64 bytes, since the alignment decides which kernels a library uses, and
  // thereby the last bits of the result. Cheap enough to change the weights in every iteration.
  virtual void use_weights(std::span<float> weights) = 0;
  virtual void use_gradients(std::span<float> gradients) = 0;

  // Whether fetch_weights() is of use.
  virtual bool fetches_weights() const { return false; }
  // Announces that a part of the weights is final that the next use_weights() will name: a trainer
  // on a device begins to copy it. Call it for each part at most once before use_weights(): after
  // forward_backward() has returned, or within it by what use_waiting_time() was given.
  virtual void fetch_weights(std::span<float> /*next_weights*/, std::uint64_t /*first*/,
                             std::uint64_t /*last*/) {}

  // What the trainer calls within forward_backward() while it waits for a device, on the same
  // thread: work of others that returns false if there is none at present. It may be empty.
  virtual void use_waiting_time(const std::function<bool()>& /*work*/) {}

  // Returns whether both vectors are host memory rather than memory of a device.
  virtual bool vectors_are_on_host() const { return true; }

  // Ends all access to the vectors until the next use_weights() and use_gradients(), but may keep
  // what it knows of their memory, which stays. Call it before their content is changed.
  virtual void settle_vectors() { release_vectors(); }
  // Ends all access to vectors that were in use. Call it before their memory is freed or unmapped;
  // use_weights() and use_gradients() follow before the next pass.
  virtual void release_vectors() {}

  // Writes the model's initial weights, which follow from the job's seed, into the weights in use.
  virtual void write_initial_weights() = 0;

  virtual void read_buffers(std::span<float> destination) const = 0;
  virtual void write_buffers(std::span<const float> source) = 0;
  // Keeps a copy of the buffers as they are now, in place of the one before. A trainer whose
  // buffers are on a device keeps it there, and does not wait for the device.
  virtual void keep_buffers() {
    kept_buffers_.resize(buffers().flat_size());
    if (!kept_buffers_.empty()) read_buffers(kept_buffers_);
  }
  // Requires keep_buffers().
  virtual void read_kept_buffers(std::span<float> destination) const {
    std::copy(kept_buffers_.begin(), kept_buffers_.end(), destination.begin());
  }

  // Announces a batch some iterations before it is trained on; it may change when this returns, and
  // need never come. The exception to the rule of one thread: called by the thread that loads data.
  virtual void expect(const Batch&) {}

  // Computes the gradient of the batch's loss (Batch::loss_terms) at the weights in use, and writes
  // it over the gradients in use. `random_key` determines dropout and similar random choices.
  // Throws JobError if the loss is not finite.
  virtual TrainingStep forward_backward(const Batch& batch, std::uint64_t random_key,
                                        const GradientReady& ready) = 0;

  virtual EvaluationSums evaluate(const Batch& batch) = 0;

  // Returns the model's outputs for each sample, as in an evaluation, row-major: a logit for each
  // class, or the values. Returns nothing for models of tokens, which do not support it.
  virtual std::vector<float> answer(const Batch&) { return {}; }

  // Measured at the first batch, if possible.
  virtual SampleMemory sample_memory() const { return {}; }
  // Returns nothing if the trainer computes in the host's memory.
  virtual std::optional<DeviceUse> device_use() const { return std::nullopt; }

 private:
  std::vector<float> kept_buffers_;
};

}  // namespace scavenger
