#include "runtime/torch/trainer/loss_sum.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cmath>
#include <string>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

void require_finite(double loss) {
  if (std::isfinite(loss)) return;
  throw JobError({.what = "the loss is " + std::to_string(loss) + ", not a finite number",
                  .where = {},
                  .remedy = "lower optimizer.learning_rate or use warm-up, and look for extreme "
                            "values in the data"});
}

}  // namespace

void LossSum::add(const at::Tensor& loss) {
  if (device_.is_cpu()) {
    sum_ += loss.item<double>();
    require_finite(sum_);
    return;
  }
  const at::NoGradGuard no_gradients;
  const at::Tensor term = loss.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  if (on_device_.defined())
    on_device_.add_(term);
  else
    on_device_ = term;
}

void LossSum::send() {
  if (device_.is_cpu()) return;
  pinned_ = at::empty({}, at::TensorOptions().dtype(at::kDouble).pinned_memory(true));
  pinned_.copy_(on_device_, /*non_blocking=*/true);
  arrives_.emplace(device_.type());
  arrives_->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
}

double LossSum::value() {
  if (!arrives_) return sum_;
  arrives_->synchronize();
  arrives_.reset();
  sum_ = *pinned_.const_data_ptr<double>();
  require_finite(sum_);
  return sum_;
}

}  // namespace scavenger
