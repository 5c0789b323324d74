#include "runtime/torch/trainer/model_trainer.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/checkpoint/carried_tensor.h"
#include "runtime/metrics/bleu.h"
#include "runtime/torch/imported/foreign_model.h"
#include "runtime/torch/imported/frozen_parameters.h"
#include "runtime/torch/imported/memory_limit.h"
#include "runtime/torch/trainer/alignment.h"
#include "runtime/torch/trainer/memory_meter.h"
#include "runtime/torch/trainer/reduced_precision.h"

namespace scavenger {
namespace {

constexpr std::size_t kKeptViews = 4;
constexpr std::uint32_t kTrialSamples = 2;  // batch normalisation needs more than one
// The fraction of the available memory that samples may use, since other data also grows.
constexpr double kUsableMemory = 0.75;

template <typename Named>
TensorLayout layout_of(const std::vector<Named>& tensors) {
  TensorLayout layout;
  for (const NamedTensor& named : tensors) layout.add(named.name, named.tensor.sizes().vec());
  return layout;
}

at::Tensor host_view(std::span<const float> values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat);
}

// Calls `write(values, index)` for each tensor, with values in one block of memory.
template <typename Named, typename Write>
void for_initial_values(const std::vector<Named>& tensors, std::uint64_t seed,
                        std::string_view purpose, const Write& write) {
  std::vector<float> values;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    RandomStream stream(seed, purpose, {tensors[i].place});
    values.resize(static_cast<std::size_t>(tensors[i].tensor.numel()));
    tensors[i].initial_values(values, stream);
    write(values, i);
  }
}

void require_finite(double loss) {
  if (std::isfinite(loss)) return;
  throw JobError({.what = "the loss is " + std::to_string(loss) + ", not a finite number",
                  .where = {},
                  .remedy = "lower optimizer.learning_rate or use warm-up, and look for extreme "
                            "values in the data"});
}

// An error of LibTorch in a user's model is bad input, since it would occur again on any machine.
template <typename Code>
auto blaming(const Model& model, const Code& code) {
  try {
    return code();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (model.file().empty() || is_out_of_memory(error)) throw;
    throw ConfigError({.what = "cannot train the model: " + cause_of(error),
                       .where = model.file(),
                       .remedy = "try one step of it in Python: forward, loss and backward"});
  }
}

}  // namespace

ModelTrainer::ModelTrainer(std::unique_ptr<Model> model, TrainerOptions options)
    : model_(std::move(model)),
      options_(std::move(options)),
      objective_(options_.loss, options_.data),
      parameters_(layout_of(model_->parameters())),
      buffers_(layout_of(model_->buffers())),
      collector_(model_->parameters(), parameters_),
      micro_batch_(options_.compute.micro_batch) {
  const ModelPlacement& placement = options_.placement;
  if (!placement.device.is_cpu()) model_->move_to(placement.device);
  if (placement.is_mirrored) mirror_.emplace(placement.device, parameters_.flat_size());
  const auto& buffers = model_->buffers();
  for_initial_values(buffers, options_.seed, "buffers",
                     [&](std::span<const float> values, std::size_t i) {
                       buffers[i].tensor.copy_(host_view(values, buffers[i].tensor.sizes()));
                     });
}

bool ModelTrainer::vectors_are_on_host() const {
  return options_.placement.device.is_cpu() || mirror_.has_value();
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
  const auto floats = at::TensorOptions().dtype(at::kFloat).device(options_.placement.device);
  if (views.empty())
    for (const TensorPlace& place : parameters_.tensors())
      views.push_back(at::from_blob(flat + place.offset, place.shape, floats));
  for (std::size_t i = 0; i < views.size(); ++i) model_->parameters()[i].tensor.set_data(views[i]);
}

void ModelTrainer::use_gradients(std::span<float> gradients) {
  SCAVENGER_CHECK(gradients.size() == parameters_.flat_size() &&
                  starts_cache_line(gradients.data()));
  gradients_ = gradients;
  const std::span<float> collected =
      mirror_ ? std::span(mirror_->gradients().data_ptr<float>(), gradients.size()) : gradients;
  collector_.bind(parameters_, collected, options_.placement.device);
}

void ModelTrainer::write_initial_weights() {
  SCAVENGER_CHECK(!weights_.empty());
  const at::NoGradGuard no_gradients;
  const auto& parameters = model_->parameters();
  for_initial_values(parameters, options_.seed, "weights",
                     [&](std::span<const float> values, std::size_t i) {
                       const TensorPlace& place = parameters_.tensors()[i];
                       if (mirror_)
                         std::copy(values.begin(), values.end(),
                                   weights_.begin() + static_cast<std::ptrdiff_t>(place.offset));
                       else
                         parameters[i].tensor.copy_(host_view(values, place.shape));
                     });
  if (mirror_) mirror_->bring_weights(weights_);
}

void ModelTrainer::read_buffers(std::span<float> destination) const {
  SCAVENGER_CHECK(destination.size() == buffers_.flat_size());
  std::fill(destination.begin(), destination.end(), 0.0f);
  for (std::size_t i = 0; i < buffers_.tensors().size(); ++i) {
    const TensorPlace& place = buffers_.tensors()[i];
    host_view(destination.subspan(place.offset, place.size), place.shape)
        .copy_(model_->buffers()[i].tensor);
  }
}

void ModelTrainer::write_buffers(std::span<const float> source) {
  SCAVENGER_CHECK(source.size() == buffers_.flat_size());
  for (std::size_t i = 0; i < buffers_.tensors().size(); ++i) {
    const TensorPlace& place = buffers_.tensors()[i];
    const auto values = source.subspan(place.offset, place.size);
    if (place.name == kFrozenMark) require_frozen_as(model_->buffers()[i].tensor, values);
    model_->buffers()[i].tensor.copy_(host_view(values, place.shape));
  }
}

TrainingStep ModelTrainer::forward_backward(const Batch& batch, std::uint64_t random_key,
                                            const GradientReady& ready) {
  return blaming(*model_, [&] { return train_on(batch, random_key, ready); });
}

TrainingStep ModelTrainer::train_on(const Batch& batch, std::uint64_t random_key,
                                    const GradientReady& ready) {
  SCAVENGER_CHECK(!weights_.empty() && !gradients_.empty());
  model_->set_training(true);
  std::vector<float> buffers(buffers_.flat_size());
  read_buffers(buffers);
  // A device reports a lack of memory, whereas Linux may kill the process.
  const bool may_be_killed = options_.placement.device.is_cpu();
  if (may_be_killed && options_.compute.micro_batch == 0 && batch.size > largest_batch_) {
    if (largest_batch_ == 0) {
      measure_samples(batch);
      write_buffers(buffers);
    }
    leave_room(batch.size);
  }
  for (;;) {
    if (model_->draws_random_numbers()) at::manual_seed(random_key);
    if (const auto step = try_forward_backward(batch, ready)) return *step;
    halve_micro_batch(batch.size);
    write_buffers(buffers);
  }
}

std::optional<TrainingStep> ModelTrainer::try_forward_backward(const Batch& batch,
                                                               const GradientReady& ready) {
  const std::uint64_t most = micro_batch_ == 0 ? batch.size : micro_batch_;
  // Passes of nearly equal size, since batch normalisation does not work with a single remaining
  // sample.
  const std::uint64_t passes = (batch.size + most - 1) / most;
  const ReducedPrecision reduced(options_.compute.precision, options_.placement.device.type());
  const GradientReady to_mirror = [this](std::uint64_t begin, std::uint64_t end) {
    mirror_->gradient_ready(begin, end);
  };
  double loss_sum = 0.0;
  TrainingStep step;
  if (mirror_) mirror_->begin(gradients_, ready);
  collector_.begin(mirror_ ? to_mirror : ready);
  try {
    for (std::uint64_t pass = 0; pass < passes; ++pass) {
      const auto first = static_cast<std::uint32_t>(batch.size * pass / passes);
      const auto last = static_cast<std::uint32_t>(batch.size * (pass + 1) / passes);
      const double start = clock_.now_seconds();
      collector_.begin_pass(/*is_last=*/last == batch.size);
      const at::Tensor loss = loss_of(batch, first, last);
      loss_sum += loss.item<double>();
      require_finite(loss_sum);
      const double middle = clock_.now_seconds();
      loss.backward();
      await_device();
      step.forward_seconds += middle - start;
      step.backward_seconds += clock_.now_seconds() - middle;
    }
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error) || !collector_.can_begin_again()) throw;
    return std::nullopt;
  }
  collector_.finish();
  if (mirror_) mirror_->finish();
  step.loss_sum = loss_sum * batch.size;
  return step;
}

// Waits for the device, so that the time of a pass is measured correctly.
void ModelTrainer::await_device() const {
  const at::Device device = options_.placement.device;
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  c10::Event computed(device.type());
  computed.record(guard.getStream(device));
  computed.synchronize();
}

// Measures the growth from a small pass to one of twice as many samples, since gradients and the
// layers' own memory are the same in both.
void ModelTrainer::measure_samples(const Batch& batch) {
  if (batch.size < 2 * kTrialSamples) return;
  try {
    const std::int64_t few = most_bytes_of_pass(batch, kTrialSamples);
    const std::int64_t more = most_bytes_of_pass(batch, 2 * kTrialSamples);
    memory_.bytes_per_sample =
        static_cast<std::uint64_t>(std::max<std::int64_t>(more - few, 0)) / kTrialSamples;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
  }
}

std::int64_t ModelTrainer::most_bytes_of_pass(const Batch& batch, std::uint32_t samples) {
  const ReducedPrecision reduced(options_.compute.precision, at::kCPU);
  const GradientReady nobody;
  collector_.begin(nobody);
  collector_.begin_pass(/*is_last=*/true);
  const MemoryMeter meter;
  loss_of(batch, 0, samples).backward();
  collector_.finish();
  return meter.most_bytes();
}

// Linux lets a process allocate more memory than there is, and kills it when it uses that. A pass
// therefore has at most as many samples as fit into this process's share of the memory, which is
// its share of the cores.
void ModelTrainer::leave_room(std::uint32_t batch_size) {
  largest_batch_ = batch_size;
  if (memory_.bytes_per_sample == 0) return;
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  const double share = std::min(1.0, at::get_num_threads() / cores) * kUsableMemory;
  const double room = share * static_cast<double>(options_.available_bytes()) /
                      static_cast<double>(memory_.bytes_per_sample);
  memory_.room_samples = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(room));
  const std::uint32_t before = micro_batch_ == 0 ? batch_size : micro_batch_;
  if (room < before) micro_batch_ = std::max(1u, static_cast<std::uint32_t>(room));
}

void ModelTrainer::halve_micro_batch(std::uint32_t batch_size) {
  const std::uint32_t before = micro_batch_ == 0 ? batch_size : std::min(micro_batch_, batch_size);
  if (before == 1)
    throw JobError({.what = "memory does not suffice for one sample",
                    .where = {},
                    .remedy = "use a smaller model, or a machine with more memory"});
  micro_batch_ = before / 2;
}

at::Tensor ModelTrainer::loss_of(const Batch& batch, std::uint32_t first, std::uint32_t last) {
  const BatchTensors tensors =
      tensors_of(batch, options_.data, first, last, options_.placement.device);
  use_keys(batch, first, last);
  if (options_.loss.type == LossType::kModel)
    return model_->own_loss(tensors.input, tensors.targets)
        .mul(static_cast<double>(last - first) / batch.size);
  const at::Tensor predictions = objective_.predictions(model_->forward(tensors.input), tensors);
  return objective_.loss_sum(predictions, tensors.targets).div(batch.size * batch.loss_terms);
}

// The keys depend only on the sample, not on the worker that computes it.
void ModelTrainer::use_keys(const Batch& batch, std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint64_t> keys;
  for (std::uint32_t row = first; row < last; ++row)
    keys.push_back(RandomStream(options_.seed, "sample", {batch.first_position + row}).bits());
  model_->use_keys(std::move(keys));
}

at::Tensor ModelTrainer::predictions_for(const BatchTensors& tensors) {
  SCAVENGER_CHECK(!weights_.empty());
  model_->set_training(false);
  const ReducedPrecision reduced(options_.compute.precision, options_.placement.device.type());
  return objective_.predictions(model_->forward(tensors.input), tensors);
}

std::vector<float> ModelTrainer::answer(const Batch& batch) {
  if (options_.data.vocabulary > 0) return {};
  const at::NoGradGuard no_gradients;
  const BatchTensors tensors =
      tensors_of(batch, options_.data, 0, batch.size, options_.placement.device);
  const at::Tensor answers = predictions_for(tensors).to(at::kCPU, at::kFloat).contiguous();
  const float* const first = answers.const_data_ptr<float>();
  return {first, first + answers.numel()};
}

EvaluationSums ModelTrainer::evaluate(const Batch& batch) {
  return blaming(*model_, [&] { return evaluate_on(batch); });
}

EvaluationSums ModelTrainer::evaluate_on(const Batch& batch) {
  const at::NoGradGuard no_gradients;
  const at::Device device = options_.placement.device;
  const BatchTensors tensors = tensors_of(batch, options_.data, 0, batch.size, device);
  const at::Tensor predictions = predictions_for(tensors);
  const ReducedPrecision reduced(options_.compute.precision, device.type());
  EvaluationSums sums = objective_.evaluate(predictions, tensors.targets);
  sums.samples = batch.size;
  if (options_.loss.type == LossType::kModel)
    sums.loss = model_->own_loss(tensors.input, tensors.targets).item<double>() *
                static_cast<double>(sums.predictions);
  if (options_.beam_width > 0) add_bleu(tensors, sums);
  return sums;
}

void ModelTrainer::add_bleu(const BatchTensors& tensors, EvaluationSums& sums) {
  const auto written = model_->write_sequences(tensors.input.samples, options_.beam_width);
  const at::Tensor references = tensors.input.targets.cpu().contiguous();
  const auto length = static_cast<std::size_t>(references.size(1));
  const std::span<const std::int64_t> words{references.const_data_ptr<std::int64_t>(),
                                            length * written.size()};
  for (std::size_t i = 0; i < written.size(); ++i)
    add_sentence(written[i], words_of(words.subspan(i * length, length)), sums.bleu);
}

}  // namespace scavenger
