#include "runtime/torch/trainer/tensor_replica.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/torch/trainer/device.h"
#include "runtime/training/clip_scale.h"

namespace scavenger {
namespace {

std::uint32_t count_state_vectors(const OptimizerConfig& optimizer) {
  if (optimizer.type != OptimizerType::kSgd) return 2;
  return static_cast<float>(optimizer.momentum) != 0.0F ? 1 : 0;
}

at::Tensor part_of(const at::Tensor& flat, FlatRange range) {
  return flat.narrow(0, static_cast<std::int64_t>(range.first),
                     static_cast<std::int64_t>(range.size));
}

class TensorReplica final : public Replica {
 public:
  TensorReplica(std::uint64_t flat_size, const OptimizerConfig& optimizer, at::Device device)
      : optimizer_(optimizer), state_vectors_(count_state_vectors(optimizer)), device_(device) {
    const auto zeros = [&] {
      return at::zeros({static_cast<std::int64_t>(flat_size)},
                       at::TensorOptions().dtype(at::kFloat).device(device));
    };
    for (auto& version : versions_)
      for (std::uint32_t i = 0; i <= state_vectors_; ++i) version.push_back(zeros());
    gradients_ = zeros();
  }

  std::uint32_t state_vectors() const override { return state_vectors_; }
  std::span<float> vector(std::uint32_t index, std::uint64_t iteration) override {
    return span_of(versions_[iteration % 2].at(index));
  }
  std::span<float> gradients() override { return span_of(gradients_); }

  void clear(std::uint64_t iteration) override {
    for (at::Tensor& vector : versions_[iteration % 2]) vector.zero_();
  }
  void load(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
            std::span<const float> values) override {
    part_of(versions_[iteration % 2].at(index), {first, values.size()})
        .copy_(host_view({const_cast<float*>(values.data()), values.size()}));
  }
  void save(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
            std::span<float> values) override {
    host_view(values).copy_(part_of(versions_[iteration % 2].at(index), {first, values.size()}));
  }

  void save_gradients(std::uint64_t first, std::span<float> values) override {
    host_view(values).copy_(part_of(gradients_, {first, values.size()}));
  }
  void load_gradients(std::uint64_t first, std::span<const float> values) override {
    part_of(gradients_, {first, values.size()})
        .copy_(host_view({const_cast<float*>(values.data()), values.size()}));
  }

  void begin(const ReplicaStep& step) override;
  void weight(FlatRange range, float share) override;
  bool prefers_large_ranges() const override { return true; }
  void begin_steps() override { steps_begin_ = moment(); }
  void step(FlatRange range) override;
  std::optional<GradientNorms> finish() override;
  LateNorms late_norms() override;

 private:
  bool clips() const { return optimizer_.clip_norm > 0.0; }
  void step_part(FlatRange range);
  static std::span<float> span_of(const at::Tensor& flat) {
    return {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
  }
  static at::Tensor host_view(std::span<float> values) {
    return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
  }
  at::Tensor clip_scale_on_device() const;
  // An event with a time in the device's stream; none on the CPU, which has none.
  std::optional<c10::Event> moment() const {
    if (device_.is_cpu()) return std::nullopt;
    c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    return event;
  }
  void add_square_of(const at::Tensor& values, const at::Tensor& sum) const {
    const at::Tensor norm = at::linalg_vector_norm(values, 2, {}, false, at::kDouble);
    sum.addcmul_(norm, norm);
  }

  const OptimizerConfig optimizer_;
  const std::uint32_t state_vectors_;
  const at::Device device_;
  std::vector<at::Tensor> versions_[2];  // weights, then the optimizer's vectors
  at::Tensor gradients_;

  // State of the current iteration.
  ReplicaStep step_;
  at::Tensor step_number_;  // in the form of LibTorch's Adam
  at::Tensor sqr_norms_;    // of this worker's gradient and of the step's, on the device
  std::optional<c10::Event> steps_begin_;

  // Of the last finish(), on their way to the host, which does not wait for them.
  at::Tensor late_sqr_norms_;  // pinned
  std::optional<c10::Event> late_begin_, late_end_;
  bool has_late_norms_ = false;
};

void TensorReplica::begin(const ReplicaStep& step) {
  const at::NoGradGuard no_gradients;
  step_ = step;
  step_number_ = at::full({}, static_cast<double>(step.step_number),
                          at::TensorOptions().dtype(at::kFloat).device(device_));
  sqr_norms_ = at::zeros({2}, at::TensorOptions().dtype(at::kDouble).device(device_));
}

void TensorReplica::weight(FlatRange range, float share) {
  const at::NoGradGuard no_gradients;
  at::Tensor gradient = part_of(gradients_, range);
  add_square_of(gradient, sqr_norms_[0]);
  if (share != 1.0F) gradient.mul_(share);
}

void TensorReplica::step(FlatRange range) {
  const at::NoGradGuard no_gradients;
  add_square_of(part_of(gradients_, range), sqr_norms_[1]);
  if (!clips()) step_part(range);
}

std::optional<GradientNorms> TensorReplica::finish() {
  const at::NoGradGuard no_gradients;
  if (!late_sqr_norms_.defined())
    late_sqr_norms_ =
        at::empty({2}, at::TensorOptions().dtype(at::kDouble).pinned_memory(!device_.is_cpu()));
  late_sqr_norms_.copy_(sqr_norms_, /*non_blocking=*/true);
  if (clips()) {  // the norm of the whole gradient is known now
    gradients_.mul_(clip_scale_on_device());
    step_part({0, static_cast<std::uint64_t>(gradients_.numel())});
  }
  late_begin_ = std::exchange(steps_begin_, std::nullopt);
  late_end_ = moment();
  has_late_norms_ = true;
  return std::nullopt;
}

// clip_scale() by LibTorch's operators, with the same bits.
at::Tensor TensorReplica::clip_scale_on_device() const {
  const at::Tensor sqr_norm = sqr_norms_[1];
  const at::Tensor one = at::full({}, 1.0, sqr_norm.options());
  const at::Tensor scale =
      at::full({}, optimizer_.clip_norm, sqr_norm.options()).div_(sqr_norm.sqrt().add_(kClipTiny));
  return at::where(scale.lt(1.0).logical_and_(sqr_norm.isfinite()), scale, one).to(at::kFloat);
}

LateNorms TensorReplica::late_norms() {
  SCAVENGER_CHECK(std::exchange(has_late_norms_, false));
  constexpr double kMilliseconds = 1e-3;
  LateNorms late;
  if (late_end_) late_end_->synchronize();  // after a later pass it has long been there
  if (late_begin_ && late_end_) late.seconds = kMilliseconds * late_begin_->elapsedTime(*late_end_);
  const double* const values = late_sqr_norms_.const_data_ptr<double>();
  late.norms = {values[0], values[1]};
  return late;
}

void TensorReplica::step_part(FlatRange range) {
  const std::uint64_t from = step_.iteration % 2;
  std::vector<std::vector<at::Tensor>> vectors;
  for (std::uint32_t i = 0; i <= state_vectors_; ++i) {
    vectors.push_back({part_of(versions_[1 - from][i], range)});
    vectors.back()[0].copy_(part_of(versions_[from][i], range));
  }
  const std::vector<at::Tensor> gradient = {part_of(gradients_, range)};
  const OptimizerConfig& o = optimizer_;
  if (o.type == OptimizerType::kSgd)
    return at::_fused_sgd_(vectors[0], gradient,
                           state_vectors_ > 0 ? vectors[1] : std::vector<at::Tensor>(),
                           o.weight_decay, state_vectors_ > 0 ? o.momentum : 0.0,
                           step_.learning_rate, o.dampening, o.nesterov, /*maximize=*/false,
                           /*is_first_step=*/step_.step_number == 1);
  const std::vector<at::Tensor> none, step_number = {step_number_};
  if (o.type == OptimizerType::kAdamW)
    at::_fused_adamw_(vectors[0], gradient, vectors[1], vectors[2], none, step_number,
                      step_.learning_rate, o.beta1, o.beta2, o.weight_decay, o.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  else
    at::_fused_adam_(vectors[0], gradient, vectors[1], vectors[2], none, step_number,
                     step_.learning_rate, o.beta1, o.beta2, o.weight_decay, o.epsilon,
                     /*amsgrad=*/false, /*maximize=*/false);
}

}  // namespace

std::unique_ptr<Replica> make_tensor_replica(std::uint64_t flat_size,
                                             const OptimizerConfig& optimizer,
                                             const DevicePlace& place) {
  return std::make_unique<TensorReplica>(flat_size, optimizer, device_of(place));
}

}  // namespace scavenger
