#include "runtime/torch/trainer/gradient_collector.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger {

// Autograd calls the hook right after it has stored a gradient in parameter.grad. The hook takes
// that tensor away without a copy, so that autograd never has to add to it.
struct GradientCollector::Hook final : torch::autograd::PostAccumulateGradHook {
  Hook(GradientCollector& owner, std::size_t place_index) : collector(owner), index(place_index) {}

  void operator()(const at::Tensor& parameter) override {
    const at::Tensor gradient = std::exchange(parameter.mutable_grad(), at::Tensor());
    if (!gradient.defined()) return;  // the layer has written the gradient
    // An embedding of a user's model may have a sparse gradient; the flat vector is dense.
    const bool is_dense = gradient.layout() == at::kStrided;
    collector.collect(collector.places_[index], is_dense ? gradient : gradient.to_dense());
  }

  GradientCollector& collector;
  std::size_t index;
};

GradientCollector::GradientCollector(const std::vector<Parameter>& parameters,
                                     const TensorLayout& layout) {
  const auto& tensors = layout.tensors();
  SCAVENGER_CHECK(parameters.size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t last = i + 1 < tensors.size() ? tensors[i + 1].offset : layout.flat_size();
    places_.push_back({parameters[i].slot, tensors[i].offset, tensors[i].size, last});
    places_.back().slot->written = [this, i] { arrived(places_[i]); };
    torch::autograd::impl::set_post_acc_grad_hooks(parameters[i].tensor,
                                                   std::make_unique<Hook>(*this, i));
  }
}

void GradientCollector::bind(const TensorLayout& layout, std::span<float> gradients,
                             at::Device device) {
  SCAVENGER_CHECK(gradients.size() == layout.flat_size());
  gradients_ = gradients;
  on_host_ = device.is_cpu();
  const auto floats = at::TensorOptions().dtype(at::kFloat).device(device);
  for (std::size_t i = 0; i < places_.size(); ++i)
    places_[i].slot->destination =
        at::from_blob(gradients.data() + places_[i].first, layout.tensors()[i].shape, floats);
}

void GradientCollector::begin(const GradientReady& ready) {
  ready_ = &ready;
  for (Place& place : places_) place.has_value = place.told = false;
}

void GradientCollector::begin_pass(bool is_last) {
  is_last_pass_ = is_last;
  for (Place& place : places_) {
    place.slot->uses = 0;
    place.slot->adds = place.has_value;
  }
}

void GradientCollector::finish() {
  for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
    if (place->told) continue;
    if (!place->has_value) place->slot->destination.zero_();
    tell(*place);
  }
  ready_ = nullptr;
}

void GradientCollector::collect(Place& place, const at::Tensor& gradient) {
  if (place.has_value)
    place.slot->destination.add_(gradient);
  else
    place.slot->destination.copy_(gradient);
  arrived(place);
}

void GradientCollector::arrived(Place& place) {
  place.has_value = true;
  if (is_last_pass_) tell(place);
}

void GradientCollector::tell(Place& place) {
  SCAVENGER_CHECK(ready_ != nullptr && !place.told);
  if (on_host_) {
    const std::uint64_t end = place.first + place.size;
    const auto gap = gradients_.subspan(end, place.last - end);
    std::fill(gap.begin(), gap.end(), 0.0f);
  }
  place.told = true;
  if (*ready_) (*ready_)(place.first, place.last);
}

}  // namespace scavenger
