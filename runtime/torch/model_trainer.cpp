#include "runtime/torch/model_trainer.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr std::size_t kKeptViews = 4;

template <typename Named>
TensorLayout layout_of(const std::vector<Named>& tensors) {
  TensorLayout layout;
  for (const NamedTensor& named : tensors) layout.add(named.name, named.tensor.sizes().vec());
  return layout;
}

at::Tensor view_of(std::span<float> values, at::IntArrayRef shape) {
  return at::from_blob(values.data(), shape, at::kFloat);
}

// Batches are only read, but a tensor's memory is never const.
template <typename T>
at::Tensor view_of(const std::vector<T>& values, at::IntArrayRef shape, at::ScalarType type) {
  return at::from_blob(const_cast<T*>(values.data()), shape, type);
}

bool starts_cache_line(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % (kTensorAlignment * sizeof(float)) == 0;
}

void require_finite(double loss) {
  if (std::isfinite(loss)) return;
  throw JobError({.what = "the loss is " + std::to_string(loss) + ", not a finite number",
                  .where = {},
                  .remedy = "lower optimizer.learning_rate or use warm-up, and look for extreme "
                            "values in the data"});
}

}  // namespace

ModelTrainer::ModelTrainer(std::unique_ptr<Model> model, std::vector<std::int64_t> sample_shape,
                           std::uint64_t seed, const ModelPlacement& placement)
    : model_(std::move(model)),
      sample_shape_(std::move(sample_shape)),
      seed_(seed),
      parameters_(layout_of(model_->parameters())),
      buffers_(layout_of(model_->buffers())),
      placement_(placement),
      collector_(model_->parameters(), parameters_) {
  if (placement_.is_mirrored) mirror_.emplace(placement_.device, parameters_.flat_size());
  std::vector<float> initial(buffers_.flat_size());
  for (std::size_t i = 0; i < buffers_.tensors().size(); ++i) {
    const NamedTensor& buffer = model_->buffers()[i];
    const TensorPlace& place = buffers_.tensors()[i];
    RandomStream stream(seed_, "buffers", {i});
    buffer.initial_values(std::span(initial).subspan(place.offset, place.size), stream);
    if (!placement_.device.is_cpu()) buffer.tensor.set_data(buffer.tensor.to(placement_.device));
  }
  write_buffers(initial);
}

void ModelTrainer::use_weights(std::span<float> weights) {
  SCAVENGER_CHECK(weights.size() == parameters_.flat_size() && starts_cache_line(weights.data()));
  weights_ = weights;
  if (mirror_) mirror_->bring_weights(weights);
  view_weights(mirror_ ? mirror_->weights().data_ptr<float>() : weights.data());
}

void ModelTrainer::view_weights(float* flat) {
  if (flat == viewed_) return;
  viewed_ = flat;
  if (views_.size() > kKeptViews) views_.clear();
  std::vector<at::Tensor>& views = views_[flat];
  const auto floats = at::TensorOptions().dtype(at::kFloat).device(placement_.device);
  if (views.empty())
    for (const TensorPlace& place : parameters_.tensors())
      views.push_back(at::from_blob(flat + place.offset, place.shape, floats));
  for (std::size_t i = 0; i < views.size(); ++i) model_->parameters()[i].tensor.set_data(views[i]);
}

void ModelTrainer::use_gradients(std::span<float> gradients) {
  SCAVENGER_CHECK(gradients.size() == parameters_.flat_size() &&
                  starts_cache_line(gradients.data()));
  gradients_ = gradients;
  if (mirror_)
    collector_.bind(parameters_, {mirror_->gradients().data_ptr<float>(), gradients.size()},
                    placement_.device);
  else
    collector_.bind(parameters_, gradients, placement_.device);
}

void ModelTrainer::write_initial_weights() {
  SCAVENGER_CHECK(!weights_.empty());
  const at::NoGradGuard no_gradients;
  std::vector<float> values;
  for (std::size_t i = 0; i < parameters_.tensors().size(); ++i) {
    const TensorPlace& place = parameters_.tensors()[i];
    const Parameter& parameter = model_->parameters()[i];
    RandomStream stream(seed_, "weights", {i});
    values.resize(place.size);
    parameter.initial_values(values, stream);
    if (mirror_)
      std::copy(values.begin(), values.end(),
                weights_.begin() + static_cast<std::ptrdiff_t>(place.offset));
    else
      views_.at(viewed_)[i].copy_(view_of(values, place.shape));
  }
  if (mirror_) mirror_->bring_weights(weights_);
}

void ModelTrainer::read_buffers(std::span<float> destination) const {
  SCAVENGER_CHECK(destination.size() == buffers_.flat_size());
  std::fill(destination.begin(), destination.end(), 0.0f);
  for (std::size_t i = 0; i < buffers_.tensors().size(); ++i) {
    const TensorPlace& place = buffers_.tensors()[i];
    view_of(destination.subspan(place.offset, place.size), place.shape)
        .copy_(model_->buffers()[i].tensor);
  }
}

void ModelTrainer::write_buffers(std::span<const float> source) {
  SCAVENGER_CHECK(source.size() == buffers_.flat_size());
  for (std::size_t i = 0; i < buffers_.tensors().size(); ++i) {
    const TensorPlace& place = buffers_.tensors()[i];
    std::vector<float> values(
        source.begin() + static_cast<std::ptrdiff_t>(place.offset),
        source.begin() + static_cast<std::ptrdiff_t>(place.offset + place.size));
    model_->buffers()[i].tensor.copy_(view_of(values, place.shape));
  }
}

TrainingStep ModelTrainer::forward_backward(const Batch& batch, std::uint64_t random_key,
                                            const GradientReady& ready) {
  SCAVENGER_CHECK(!weights_.empty() && !gradients_.empty());
  if (model_->draws_random_numbers()) at::manual_seed(random_key);
  model_->set_training(true);
  const double start = clock_.now_seconds();

  const GradientReady leave = [this](std::uint64_t first, std::uint64_t last) {
    mirror_->gradient_ready(first, last);
  };
  if (mirror_) mirror_->begin(gradients_, ready);
  collector_.begin(mirror_ ? leave : ready);
  const at::Tensor loss =
      at::cross_entropy_loss(model_->forward(features_of(batch)), labels_of(batch));
  const double mean_loss = loss.item<double>();
  require_finite(mean_loss);
  const double backward_start = clock_.now_seconds();

  loss.backward();
  collector_.finish();
  if (mirror_)
    mirror_->finish();
  else
    await_device();

  return {.loss_sum = mean_loss * batch.size,
          .forward_seconds = backward_start - start,
          .backward_seconds = clock_.now_seconds() - backward_start};
}

EvaluationSums ModelTrainer::evaluate(const Batch& batch) {
  SCAVENGER_CHECK(!weights_.empty());
  const at::NoGradGuard no_gradients;
  model_->set_training(false);

  const at::Tensor labels = labels_of(batch);
  const at::Tensor logits = model_->forward(features_of(batch));
  const at::Tensor losses = at::cross_entropy_loss(logits, labels, {}, at::Reduction::None);

  return {.samples = batch.size,
          .correct = static_cast<std::uint64_t>(
              at::argmax(logits, 1).eq(labels).sum().item<std::int64_t>()),
          .loss = losses.sum(at::kDouble).item<double>()};
}

// {b, sample shape...}, in the batch's own memory where that starts a cache line. Elsewhere a copy:
// MKL's results depend on alignment, and so two runs would differ by where their batches happen to
// lie.
at::Tensor ModelTrainer::features_of(const Batch& batch) const {
  SCAVENGER_CHECK(batch.sample_shape == sample_shape_);
  std::vector<std::int64_t> shape = {static_cast<std::int64_t>(batch.size)};
  shape.insert(shape.end(), sample_shape_.begin(), sample_shape_.end());
  const at::Tensor features = view_of(batch.features, shape, at::kFloat);
  SCAVENGER_CHECK(static_cast<std::size_t>(features.numel()) == batch.features.size());
  if (!placement_.device.is_cpu()) return features.to(placement_.device);
  return starts_cache_line(batch.features.data()) ? features : features.clone();
}

at::Tensor ModelTrainer::labels_of(const Batch& batch) const {
  SCAVENGER_CHECK(batch.size > 0 && batch.labels.size() == batch.size);
  return view_of(batch.labels, {static_cast<std::int64_t>(batch.size)}, at::kLong)
      .to(placement_.device);
}

// So that the time of a pass is that of the pass.
void ModelTrainer::await_device() const {
  if (placement_.device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(placement_.device.type());
  c10::Event computed(placement_.device.type());
  computed.record(guard.getStream(placement_.device));
  computed.synchronize();
}

}  // namespace scavenger
