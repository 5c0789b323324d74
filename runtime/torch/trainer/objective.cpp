#include "runtime/torch/trainer/objective.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>

#include <sstream>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/config/metric.h"

namespace scavenger {
namespace {

std::string text_of(at::IntArrayRef shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

[[noreturn]] void throw_wrong_shape(at::IntArrayRef found, const std::string& expected) {
  throw ConfigError(
      {.what = "the model's output is " + text_of(found) + ", and should be " + expected,
       .where = "model",
       .remedy = "make its last layer fit the data's classes or target values"});
}

bool has_classes(const DataShape& shape) {
  return shape.target != TargetKind::kValues;
}

// Counts the targets among the kTopClasses likeliest classes. Among equal logits the first counts
// as likelier, as in argmax, and NaN counts as likelier than all numbers, so that ties cannot put
// more than kTopClasses classes into the top.
std::uint64_t count_in_top(const at::Tensor& predictions, const at::Tensor& targets) {
  const at::Tensor own = predictions.gather(1, targets.unsqueeze(1));
  const at::Tensor places = at::arange(predictions.size(1), targets.options()).unsqueeze(0);
  const at::Tensor ahead = predictions.le(own).logical_not().logical_or(
      predictions.eq(own).logical_and(places.lt(targets.unsqueeze(1))));
  return static_cast<std::uint64_t>(
      ahead.sum(1).lt(static_cast<std::int64_t>(kTopClasses)).sum().item<std::int64_t>());
}

}  // namespace

Objective::Objective(const LossConfig& loss, const DataShape& shape)
    : type_(loss.type), label_smoothing_(loss.label_smoothing), shape_(shape) {
  if (type_ == LossType::kAutomatic)
    type_ = has_classes(shape) ? LossType::kCrossEntropy : LossType::kMse;
  const bool wants_classes = type_ == LossType::kCrossEntropy;
  if (type_ != LossType::kModel && wants_classes != has_classes(shape))
    throw ConfigError({.what = wants_classes
                                   ? "cross entropy needs labels, and the targets are values"
                                   : "this loss compares values, and the targets are labels",
                       .where = "loss.type",
                       .remedy = wants_classes ? "use mse, l1 or bce" : "use cross_entropy"});
}

at::Tensor Objective::predictions(const at::Tensor& outputs, const BatchTensors& batch) const {
  const at::Tensor& targets = batch.targets;
  if (!has_classes(shape_)) {
    if (outputs.numel() != targets.numel())
      throw_wrong_shape(outputs.sizes(), text_of(targets.sizes()));
    return outputs.view_as(targets).to(at::kFloat);
  }
  const std::int64_t classes = shape_.classes;
  const bool all_positions = batch.input.predicted.defined() && outputs.dim() == 3;
  const at::Tensor rows =
      all_positions ? outputs.reshape({-1, outputs.size(2)}).index_select(0, batch.input.predicted)
                    : outputs;
  if (rows.dim() != 2 || rows.size(0) != targets.size(0) || rows.size(1) != classes)
    throw_wrong_shape(outputs.sizes(), text_of({targets.size(0), classes}));
  return rows.to(at::kFloat);  // if their precision is lower
}

at::Tensor Objective::loss(const at::Tensor& predictions, const at::Tensor& targets,
                           at::Reduction::Reduction reduction) const {
  switch (type_) {
    case LossType::kMse:
      return at::mse_loss(predictions, targets, reduction);
    case LossType::kL1:
      return at::l1_loss(predictions, targets, reduction);
    case LossType::kBce:
      return at::binary_cross_entropy_with_logits(predictions, targets, {}, {}, reduction);
    case LossType::kCrossEntropy:
      return at::cross_entropy_loss(predictions, targets, {}, reduction, /*ignore_index=*/-100,
                                    label_smoothing_);
    default:
      return {};
  }
}

at::Tensor Objective::loss_sum(const at::Tensor& predictions, const at::Tensor& targets) const {
  return loss(predictions, targets, at::Reduction::Sum);
}

EvaluationSums Objective::evaluate(const at::Tensor& predictions, const at::Tensor& targets) const {
  const auto sum = [](const at::Tensor& terms) { return terms.sum(at::kDouble).item<double>(); };
  EvaluationSums sums;
  sums.predictions = static_cast<std::uint64_t>(targets.numel());
  if (type_ != LossType::kModel) sums.loss = sum(loss(predictions, targets, at::Reduction::None));
  if (has_classes(shape_)) {
    sums.correct = static_cast<std::uint64_t>(
        at::argmax(predictions, 1).eq(targets).sum().item<std::int64_t>());
    if (shape_.target == TargetKind::kLabel && shape_.classes > kTopClasses)
      sums.correct_in_top5 = count_in_top(predictions, targets);
    const bool is_loss = type_ == LossType::kCrossEntropy && label_smoothing_ == 0.0;
    sums.negative_log_likelihood =
        is_loss ? sums.loss
                : sum(at::cross_entropy_loss(predictions, targets, {}, at::Reduction::None));
  } else {
    if (type_ == LossType::kBce)
      sums.correct = static_cast<std::uint64_t>(
          predictions.gt(0).eq(targets.gt(0.5)).sum().item<std::int64_t>());
    sums.squared_error = sum(at::mse_loss(predictions, targets, at::Reduction::None));
  }
  return sums;
}

}  // namespace scavenger
