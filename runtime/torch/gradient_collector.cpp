#include "runtime/torch/gradient_collector.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger {

// Autograd calls it right after it has put a gradient into parameter.grad. Taking it away again
// means that autograd never has to add, and gives us the tensor that the backward formula made,
// without a copy.
struct GradientCollector::Hook final : torch::autograd::PostAccumulateGradHook {
  Hook(GradientCollector& owner, std::size_t place_index) : collector(owner), index(place_index) {}

  void operator()(const at::Tensor& parameter) override {
    const at::Tensor gradient = std::exchange(parameter.mutable_grad(), at::Tensor());
    collector.collect(collector.places_[index], gradient);
  }

  GradientCollector& collector;
  std::size_t index;
};

GradientCollector::GradientCollector(const std::vector<NamedTensor>& parameters,
                                     const TensorLayout& layout) {
  const auto& tensors = layout.tensors();
  SCAVENGER_CHECK(parameters.size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t last = i + 1 < tensors.size() ? tensors[i + 1].offset : layout.flat_size();
    places_.push_back({tensors[i].offset, tensors[i].size, last, false});
    torch::autograd::impl::set_post_acc_grad_hooks(parameters[i].tensor,
                                                   std::make_unique<Hook>(*this, i));
  }
}

void GradientCollector::bind(std::span<float> gradients) {
  SCAVENGER_CHECK(gradients.size() == (places_.empty() ? 0 : places_.back().last));
  gradients_ = gradients;
}

void GradientCollector::begin(const GradientReady& ready) {
  ready_ = &ready;
  for (Place& place : places_) place.arrived = false;
}

void GradientCollector::finish() {
  for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
    if (place->arrived) continue;
    const auto values = gradients_.subspan(place->first, place->size);
    std::fill(values.begin(), values.end(), 0.0f);
    tell(*place);
  }
  ready_ = nullptr;
}

void GradientCollector::collect(Place& place, const at::Tensor& gradient) {
  SCAVENGER_CHECK(ready_ != nullptr && !place.arrived);
  at::Tensor view = at::from_blob(gradients_.data() + place.first, gradient.sizes(), at::kFloat);
  view.copy_(gradient);
  tell(place);
}

void GradientCollector::tell(Place& place) {
  const auto gap =
      gradients_.subspan(place.first + place.size, place.last - place.first - place.size);
  std::fill(gap.begin(), gap.end(), 0.0f);
  place.arrived = true;
  if (*ready_) (*ready_)(place.first, place.last);
}

}  // namespace scavenger
