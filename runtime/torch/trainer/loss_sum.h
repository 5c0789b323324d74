// Adds up the losses of an iteration's passes where they are computed. On the CPU a loss that is
// not finite is an error at once; on a device when value() is called first, so that the host goes
// on with the backward pass meanwhile.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>

namespace scavenger {

class LossSum final {
 public:
  explicit LossSum(at::Device device) : device_(device) {}

  // Adds the loss of a pass. On the CPU: throws JobError if the sum is not finite.
  void add(const at::Tensor& loss);
  // Begins to bring the sum of a device to the host. Call it after the last add().
  void send();
  // Waits for the sum. Throws JobError if it is not finite.
  double value();

 private:
  const at::Device device_;
  double sum_ = 0.0;
  at::Tensor on_device_, pinned_;      // one double each
  std::optional<c10::Event> arrives_;  // none: sum_ is the sum
};

}  // namespace scavenger
