#include "runtime/torch/trainer/model_trainer.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/checkpoint/carried_tensor.h"
#include "runtime/metrics/bleu.h"
#include "runtime/torch/device/reduced_precision.h"
#include "runtime/torch/imported/foreign_model.h"
#include "runtime/torch/imported/frozen_parameters.h"
#include "runtime/torch/imported/memory_limit.h"
#include "runtime/torch/trainer/alignment.h"

namespace scavenger {
namespace {

constexpr std::size_t kKeptViews = 4;
// Batches that may have left for the device before one is trained on: those that are loaded ahead,
// and those of a membership that has just ended.
constexpr std::size_t kStagedBatches = 4;

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

// On a GPU the order is the same for all layers. Tensor cores, which compute all but float32, work
// on channels that lie together.
ImageOrder image_order_of(const ComputeConfig& compute, at::Device device) {
  if (compute.image_order != ImageOrder::kAutomatic || device.is_cpu()) return compute.image_order;
  return compute.precision == Precision::kFloat32 ? ImageOrder::kChannelsFirst
                                                  : ImageOrder::kChannelsLast;
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

// Moves the model before its tensors become views of flat vectors.
std::unique_ptr<Model> placed(std::unique_ptr<Model> model, const TrainerOptions& options) {
  const at::Device device = options.placement.device;
  if (!device.is_cpu()) model->move_to(device);
  model->set_image_order(image_order_of(options.compute, device));
  return model;
}

}  // namespace

ModelTrainer::ModelTrainer(std::unique_ptr<Model> model, TrainerOptions options)
    : model_(placed(std::move(model), options)),
      options_(std::move(options)),
      objective_(options_.loss, options_.data),
      parameters_(layout_of(model_->parameters())),
      buffers_(layout_of(model_->buffers())),
      flat_buffers_(model_->buffers(), buffers_),
      collector_(model_->parameters(), parameters_),
      micro_batch_(options_.compute.micro_batch) {
  const ModelPlacement& placement = options_.placement;
  if (placement.is_mirrored)
    mirror_.emplace(placement.device, parameters_.flat_size(),
                    options_.pinning.value_or(host_pinning(placement.device)), placement.transport);
  if (!placement.device.is_cpu()) stage_.emplace(options_.data, placement.device, kStagedBatches);
  settle_graphs();
  const auto& buffers = model_->buffers();
  for_initial_values(buffers, options_.seed, "buffers",
                     [&](std::span<const float> values, std::size_t i) {
                       buffers[i].tensor.copy_(host_view(values, buffers[i].tensor.sizes()));
                     });
}

void ModelTrainer::settle_graphs() {
  if (options_.compute.cuda_graphs == CudaGraphs::kOff) return;
  const MakeDeviceGraph make = options_.graphs.value_or(device_graphs(options_.placement.device));
  if (!make) return;  // they are for GPUs
  if (!model_->file().empty() || model_->draws_random_numbers())
    return options_.say("passes are computed without CUDA graphs: the model is not a built-in one");
  graphed_.emplace(GraphedPass::Parts{
      *model_, collector_, options_.placement.device, options_.compute.precision, make,
      [this](const BatchTensors& tensors, std::uint32_t samples, double loss_terms) {
        return loss_of(tensors, samples, samples, loss_terms);
      },
      options_.say, options_.tell});
}

bool ModelTrainer::vectors_are_on_host() const {
  return options_.placement.device.is_cpu() || mirror_.has_value();
}

void ModelTrainer::settle_vectors() {
  if (mirror_) mirror_->settle();
}

void ModelTrainer::release_vectors() {
  if (mirror_) mirror_->release();
}

void ModelTrainer::expect(const Batch& batch) {
  if (stage_) stage_->bring(batch);
}

void ModelTrainer::use_weights(std::span<float> weights) {
  SCAVENGER_CHECK(weights.size() == parameters_.flat_size() && starts_cache_line(weights.data()));
  weights_ = weights;
  if (mirror_) mirror_->bring_weights(weights);
  view_weights(mirror_ ? mirror_->weights().data_ptr<float>() : weights.data());
}

void ModelTrainer::fetch_weights(std::span<float> next_weights, std::uint64_t first,
                                 std::uint64_t last) {
  SCAVENGER_CHECK(mirror_ && next_weights.size() == parameters_.flat_size());
  mirror_->fetch_weights(next_weights, first, last);
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
  flat_buffers_.read(destination);
}

void ModelTrainer::write_buffers(std::span<const float> source) {
  SCAVENGER_CHECK(source.size() == buffers_.flat_size());
  for (std::size_t i = 0; i < buffers_.tensors().size(); ++i) {
    const TensorPlace& place = buffers_.tensors()[i];
    if (place.name == kFrozenMark)
      require_frozen_as(model_->buffers()[i].tensor, source.subspan(place.offset, place.size));
  }
  flat_buffers_.write(source);
}

TrainingStep ModelTrainer::forward_backward(const Batch& batch, std::uint64_t random_key,
                                            const GradientReady& ready) {
  return blaming(*model_, [&] { return train_on(batch, random_key, ready); });
}

TrainingStep ModelTrainer::train_on(const Batch& batch, std::uint64_t random_key,
                                    const GradientReady& ready) {
  SCAVENGER_CHECK(!weights_.empty() && !gradients_.empty());
  const at::Device device = options_.placement.device;
  model_->set_training(true);
  const at::Tensor buffers = flat_buffers_.copy();
  // A device reports a lack of memory, whereas Linux may kill the process.
  const bool may_be_killed = device.is_cpu();
  if (may_be_killed && options_.compute.micro_batch == 0 && batch.size > largest_batch_) {
    if (largest_batch_ == 0) {
      measure_samples(batch);
      flat_buffers_.restore(buffers);
    }
    leave_room(batch.size);
  }
  const bool is_measured = memory_.bytes_per_sample > 0;
  for (;;) {
    const auto before = is_measured ? std::nullopt : memory_of(device);
    if (before) restart_peak(device);
    if (model_->draws_random_numbers()) at::manual_seed(random_key);
    if (const auto step = try_forward_backward(batch, ready)) {
      if (const auto after = before ? memory_of(device) : std::nullopt)
        memory_ = sample_memory_on_device(*before, *after, largest_pass(batch.size));
      return *step;
    }
    flat_buffers_.restore(buffers);
  }
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
