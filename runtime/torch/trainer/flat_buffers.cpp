#include "runtime/torch/trainer/flat_buffers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace scavenger {
namespace {

at::Tensor on_host(std::span<float> values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat);
}

}  // namespace

FlatBuffers::FlatBuffers(const std::vector<NamedTensor>& buffers, const TensorLayout& layout)
    : layout_(layout) {
  const at::NoGradGuard no_gradients;
  const at::Device device = buffers.empty() ? at::kCPU : buffers.front().tensor.device();
  flat_ = at::zeros({static_cast<std::int64_t>(layout.flat_size())},
                    at::TensorOptions().dtype(at::kFloat).device(device));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const TensorPlace& place = layout.tensors()[i];
    SCAVENGER_CHECK(buffers[i].tensor.device() == device);
    const at::Tensor view = flat_
                                .narrow(0, static_cast<std::int64_t>(place.offset),
                                        static_cast<std::int64_t>(place.size))
                                .view(place.shape);
    view.copy_(buffers[i].tensor);
    buffers[i].tensor.set_data(view);
  }
}

void FlatBuffers::read(std::span<float> destination) const {
  SCAVENGER_CHECK(destination.size() == layout_.flat_size());
  if (!destination.empty()) on_host(destination).copy_(flat_);
}

// The gaps between tensors stay zero, whatever the source has there.
void FlatBuffers::write(std::span<const float> source) {
  SCAVENGER_CHECK(source.size() == layout_.flat_size());
  if (source.empty()) return;
  std::vector<float> whole(source.size());
  for (const TensorPlace& place : layout_.tensors())
    std::ranges::copy(source.subspan(place.offset, place.size),
                      whole.begin() + static_cast<std::ptrdiff_t>(place.offset));
  flat_.copy_(on_host(whole));
}

void FlatBuffers::keep() {
  if (!kept_.defined()) kept_ = at::empty_like(flat_);
  kept_.copy_(flat_);
}

void FlatBuffers::read_kept(std::span<float> destination) const {
  SCAVENGER_CHECK(kept_.defined() && destination.size() == layout_.flat_size());
  if (!destination.empty()) on_host(destination).copy_(kept_);
}

}  // namespace scavenger
