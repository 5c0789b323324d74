// The forward and backward passes of a ModelTrainer.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/torch/device/reduced_precision.h"
#include "runtime/torch/imported/memory_limit.h"
#include "runtime/torch/trainer/model_trainer.h"

namespace scavenger {

std::uint64_t ModelTrainer::passes_of(std::uint32_t batch_size) const {
  const std::uint64_t most = micro_batch_ == 0 ? batch_size : micro_batch_;
  return (batch_size + most - 1) / most;
}

std::uint64_t ModelTrainer::largest_pass(std::uint32_t batch_size) const {
  const std::uint64_t passes = passes_of(batch_size);
  return (batch_size + passes - 1) / passes;
}

// Returns nothing if all has to be done again: there was no memory, or float16 was left. Nothing
// has been reported then.
std::optional<TrainingStep> ModelTrainer::try_forward_backward(const Batch& batch,
                                                               const GradientReady& ready) {
  const at::Device device = options_.placement.device;
  const bool is_scaled = options_.compute.precision == Precision::kFloat16;
  LossSum loss(device);
  PassTimer timer(device, clock_);
  bool told = false;
  const GradientReady checked = [&](std::uint64_t first, std::uint64_t last) {
    loss.value();  // no gradient of a loss that is not finite is reported
    told = true;
    if (ready) ready(first, last);
  };
  const GradientReady to_mirror = [this](std::uint64_t first, std::uint64_t last) {
    mirror_->gradient_ready(first, last);
  };
  const GradientReady& finished = mirror_ ? to_mirror : checked;
  std::vector<FlatRange> held;  // scaled gradients, which may yet turn out to be infinite
  const GradientReady hold = [&](std::uint64_t first, std::uint64_t last) {
    held.push_back({first, last - first});
  };
  if (mirror_) mirror_->begin(gradients_, checked);
  try {
    run_passes(batch, loss, timer, is_scaled ? hold : finished);
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error) || told) throw;
    halve_micro_batch(batch.size);
    return std::nullopt;
  }
  if (is_scaled) {
    loss.value();
    if (!unscale_gradients()) return std::nullopt;
    for (const FlatRange& range : held) finished(range.first, range.last());
  }
  if (mirror_) mirror_->finish(waiting_time_);
  const PassTimer::Seconds seconds = divided(timer.sum());
  TrainingStep step;
  step.loss_sum = loss.value() * batch.size;
  step.forward_seconds = seconds.forward;
  step.backward_seconds = seconds.backward;
  return step;
}

// Passes of nearly equal size, since batch normalisation does not work with a single remaining
// sample.
void ModelTrainer::run_passes(const Batch& batch, LossSum& loss, PassTimer& timer,
                              const GradientReady& report) {
  const std::uint64_t passes = passes_of(batch.size);
  is_replayed_ = false;
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    const auto first = static_cast<std::uint32_t>(batch.size * pass / passes);
    const auto last = static_cast<std::uint32_t>(batch.size * (pass + 1) / passes);
    timer.begin_forward();
    const BatchTensors tensors = tensors_for(batch, first, last);
    use_keys(batch, first, last);
    if (passes == 1 && graphed_ && replay_pass(batch, tensors, loss, timer, report)) return;
    if (pass == 0) collector_.begin(report);
    run_pass(batch, first, last, tensors, loss, timer);
  }
  collector_.finish();
}

void ModelTrainer::run_pass(const Batch& batch, std::uint32_t first, std::uint32_t last,
                            const BatchTensors& tensors, LossSum& loss, PassTimer& timer) {
  const bool is_scaled = options_.compute.precision == Precision::kFloat16;
  const ReducedPrecision reduced(options_.compute.precision, options_.placement.device.type());
  collector_.begin_pass(/*is_last=*/last == batch.size);
  const at::Tensor pass_loss = loss_of(tensors, last - first, batch.size, batch.loss_terms);
  loss.add(pass_loss);
  if (last == batch.size) loss.send();
  timer.begin_backward();
  (is_scaled ? pass_loss.mul(loss_scale_.value()) : pass_loss).backward();
  timer.end_backward();
}

// Returns false if the pass is not a graph.
bool ModelTrainer::replay_pass(const Batch& batch, const BatchTensors& tensors, LossSum& loss,
                               PassTimer& timer, const GradientReady& report) {
  const bool is_scaled = options_.compute.precision == Precision::kFloat16;
  is_replayed_ = graphed_->run(
      {.tensors = tensors,
       .samples = batch.size,
       .loss_terms = batch.loss_terms,
       .loss_scale = is_scaled ? loss_scale_.value() : 1.0,
       .weights = viewed_,
       .gradients = mirror_ ? mirror_->gradients().const_data_ptr() : gradients_.data()},
      loss, report);
  if (!is_replayed_) return false;
  timer.begin_backward();
  timer.end_backward();
  return true;
}

// A graph has no moment between its forward and its backward pass that has a time.
PassTimer::Seconds ModelTrainer::divided(PassTimer::Seconds seconds) {
  const double all = seconds.forward + seconds.backward;
  if (is_replayed_) return {all * forward_part_, all * (1.0 - forward_part_)};
  if (all > 0.0) forward_part_ = seconds.forward / all;
  return seconds;
}

// Takes the factor of the loss out of the gradients. Returns false if they are not finite with it.
bool ModelTrainer::unscale_gradients() {
  const at::NoGradGuard no_gradients;
  const std::span<float> collected =
      mirror_ ? std::span(mirror_->gradients().data_ptr<float>(), gradients_.size()) : gradients_;
  at::Tensor flat =
      at::from_blob(collected.data(), {static_cast<std::int64_t>(collected.size())},
                    at::TensorOptions().dtype(at::kFloat).device(options_.placement.device));
  if (at::isfinite(flat).all().item<bool>()) {
    flat.mul_(1.0 / loss_scale_.value());
    loss_scale_.note_success();
    return true;
  }
  const double before = loss_scale_.value();
  if (!loss_scale_.halve())
    throw JobError({.what = "gradients are not finite in float16, although the loss is",
                    .where = {},
                    .remedy = "use compute.precision bfloat16, which has the range of float32"});
  options_.say("float16 gradients overflow with the loss times " + std::to_string(before) +
               ": the pass is repeated with half of that");
  return false;
}

at::Tensor ModelTrainer::loss_of(const BatchTensors& tensors, std::uint32_t samples,
                                 std::uint32_t batch_size, double loss_terms) {
  if (options_.loss.type == LossType::kModel)
    return model_->own_loss(tensors.input, tensors.targets)
        .mul(static_cast<double>(samples) / batch_size);
  const at::Tensor predictions = objective_.predictions(model_->forward(tensors.input), tensors);
  return objective_.loss_sum(predictions, tensors.targets).div(batch_size * loss_terms);
}

// A batch that goes in one pass may be on the device already.
BatchTensors ModelTrainer::tensors_for(const Batch& batch, std::uint32_t first,
                                       std::uint32_t last) {
  if (stage_ && first == 0 && last == batch.size)
    if (auto staged = stage_->take(batch)) return *std::move(staged);
  return tensors_of(batch, options_.data, first, last, options_.placement.device);
}

// The keys depend only on the sample, not on the worker that computes it.
void ModelTrainer::use_keys(const Batch& batch, std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint64_t> keys;
  for (std::uint32_t row = first; row < last; ++row)
    keys.push_back(RandomStream(options_.seed, "sample", {batch.first_position + row}).bits());
  model_->use_keys(std::move(keys));
}

}  // namespace scavenger
