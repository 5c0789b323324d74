#include "runtime/torch/model_trainer.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>

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

std::span<float> values_of(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

template <typename Named>
void write_initial_values(const std::vector<Named>& tensors, std::uint64_t seed,
                          std::string_view purpose) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    RandomStream stream(seed, purpose, {i});
    tensors[i].initial_values(values_of(tensors[i].tensor), stream);
  }
}

// Batches are only read, but a tensor's memory is never const.
template <typename T>
at::Tensor view_of(const std::vector<T>& values, at::IntArrayRef shape, at::ScalarType type) {
  return at::from_blob(const_cast<T*>(values.data()), shape, type);
}

at::Tensor labels_of(const Batch& batch) {
  SCAVENGER_CHECK(batch.size > 0 && batch.labels.size() == batch.size);
  return view_of(batch.labels, {static_cast<std::int64_t>(batch.size)}, at::kLong);
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
                           std::uint64_t seed)
    : model_(std::move(model)),
      sample_shape_(std::move(sample_shape)),
      seed_(seed),
      parameters_(layout_of(model_->parameters())),
      buffers_(layout_of(model_->buffers())),
      collector_(model_->parameters(), parameters_) {
  write_initial_values(model_->buffers(), seed_, "buffers");
}

void ModelTrainer::use_weights(std::span<float> weights) {
  if (weights.data() == weights_) return;
  SCAVENGER_CHECK(weights.size() == parameters_.flat_size() && starts_cache_line(weights.data()));
  weights_ = weights.data();
  if (views_.size() > kKeptViews) views_.clear();
  std::vector<at::Tensor>& views = views_[weights_];
  if (views.empty())
    for (const TensorPlace& place : parameters_.tensors())
      views.push_back(at::from_blob(weights_ + place.offset, place.shape, at::kFloat));
  for (std::size_t i = 0; i < views.size(); ++i) model_->parameters()[i].tensor.set_data(views[i]);
}

void ModelTrainer::use_gradients(std::span<float> gradients) {
  SCAVENGER_CHECK(gradients.size() == parameters_.flat_size() &&
                  starts_cache_line(gradients.data()));
  collector_.bind(parameters_, gradients);
  has_gradients_ = true;
}

void ModelTrainer::write_initial_weights() {
  SCAVENGER_CHECK(weights_ != nullptr);
  write_initial_values(model_->parameters(), seed_, "weights");
}

void ModelTrainer::read_buffers(std::span<float> destination) const {
  SCAVENGER_CHECK(destination.size() == buffers_.flat_size());
  std::fill(destination.begin(), destination.end(), 0.0f);
  for (std::size_t i = 0; i < buffers_.tensors().size(); ++i) {
    const auto values = values_of(model_->buffers()[i].tensor);
    std::copy(values.begin(), values.end(),
              destination.begin() + static_cast<std::ptrdiff_t>(buffers_.tensors()[i].offset));
  }
}

void ModelTrainer::write_buffers(std::span<const float> source) {
  SCAVENGER_CHECK(source.size() == buffers_.flat_size());
  for (std::size_t i = 0; i < buffers_.tensors().size(); ++i) {
    const TensorPlace& place = buffers_.tensors()[i];
    const auto values = source.subspan(place.offset, place.size);
    std::copy(values.begin(), values.end(), values_of(model_->buffers()[i].tensor).begin());
  }
}

TrainingStep ModelTrainer::forward_backward(const Batch& batch, std::uint64_t random_key,
                                            const GradientReady& ready) {
  SCAVENGER_CHECK(weights_ != nullptr && has_gradients_);
  if (model_->draws_random_numbers()) at::manual_seed(random_key);
  model_->set_training(true);
  const double start = clock_.now_seconds();

  collector_.begin(ready);
  const at::Tensor loss =
      at::cross_entropy_loss(model_->forward(features_of(batch)), labels_of(batch));
  const double mean_loss = loss.item<double>();
  require_finite(mean_loss);
  const double backward_start = clock_.now_seconds();

  loss.backward();
  collector_.finish();

  return {.loss_sum = mean_loss * batch.size,
          .forward_seconds = backward_start - start,
          .backward_seconds = clock_.now_seconds() - backward_start};
}

EvaluationSums ModelTrainer::evaluate(const Batch& batch) {
  SCAVENGER_CHECK(weights_ != nullptr);
  const at::NoGradGuard no_gradients;
  model_->set_training(false);

  const at::Tensor labels = labels_of(batch);
  const at::Tensor logits = model_->forward(features_of(batch));
  const at::Tensor losses = at::cross_entropy_loss(logits, labels, {}, at::Reduction::None);

  const double loss = losses.sum(at::kDouble).item<double>();
  return {.samples = batch.size,
          .predictions = batch.size,
          .correct = static_cast<std::uint64_t>(
              at::argmax(logits, 1).eq(labels).sum().item<std::int64_t>()),
          .loss = loss,
          .negative_log_likelihood = loss,
          .bleu = {}};
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
  return starts_cache_line(batch.features.data()) ? features : features.clone();
}

}  // namespace scavenger
