// A pass that means nothing, before a worker takes part in a job: a GPU makes its context, the
// handles of its libraries and its kernels when they are used first, which takes up to seconds.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/torch/device/reduced_precision.h"
#include "runtime/torch/trainer/model_trainer.h"

namespace scavenger {
namespace {

constexpr std::uint32_t kSamples = 4;  // batch normalisation needs more than one

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{kSamples}, std::multiplies<>()));
}

Batch plain_batch(const DataShape& shape) {
  Batch batch;
  batch.size = kSamples;
  batch.sample_shape = shape.sample_shape;
  batch.target_shape =
      shape.target == TargetKind::kNextTokens ? shape.sample_shape : shape.target_shape;
  if (shape.vocabulary > 0)
    batch.tokens.assign(elements_of(batch.sample_shape), kFirstWordToken);
  else
    batch.features.assign(elements_of(batch.sample_shape), 0.0F);
  if (shape.target == TargetKind::kValues)
    batch.values.assign(elements_of(batch.target_shape), 0.0F);
  else
    batch.labels.assign(elements_of(batch.target_shape),
                        shape.target == TargetKind::kLabel ? 0 : kFirstWordToken);
  return batch;
}

// A context, and the handles and workspaces of the libraries for products and convolutions, which a
// model of any kind needs.
void make_handles(Precision precision, at::Device device) {
  const at::NoGradGuard no_gradients;
  const ReducedPrecision reduced(precision, device.type());
  const auto floats = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor product = at::linear(at::ones({8, 8}, floats), at::ones({8, 8}, floats));
  const at::Tensor image =
      at::conv2d(at::ones({2, 8, 8, 8}, floats), at::ones({8, 8, 3, 3}, floats), {}, 1, 1);
  static_cast<void>(product.sum().add(image.sum()).item<float>());  // waits for the device
}

}  // namespace

void ModelTrainer::warm_up() {
  make_handles(options_.compute.precision, options_.placement.device);
  // A user's model may not take such samples, and an error on a device cannot be undone.
  if (!model_->file().empty()) return;
  const at::NoGradGuard no_gradients;
  const at::Tensor buffers = flat_buffers_.copy();
  const auto place = vectors_are_on_host() ? at::Device(at::kCPU) : options_.placement.device;
  const auto zeros = [&] {
    return at::zeros({static_cast<std::int64_t>(parameters_.flat_size())},
                     at::TensorOptions().dtype(at::kFloat).device(place));
  };
  const at::Tensor weights = zeros(), gradients = zeros();
  const auto span_of = [](const at::Tensor& flat) {
    return std::span(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
  };
  const std::uint32_t micro_batch = micro_batch_;
  use_weights(span_of(weights));
  use_gradients(span_of(gradients));
  write_initial_weights();
  try {
    const at::AutoGradMode with_gradients(true);
    forward_backward(plain_batch(options_.data), 0, {});
  } catch (const JobError&) {
    // The first batch of the job will say what is wrong.
  }
  // It leaves no trace.
  release_vectors();
  flat_buffers_.restore(buffers);
  views_.clear();
  viewed_ = nullptr;
  weights_ = gradients_ = {};
  memory_ = SampleMemory();
  loss_scale_ = LossScale();
  if (graphed_) graphed_->forget();
  micro_batch_ = micro_batch;
  largest_batch_ = 0;
}

}  // namespace scavenger
