#include "runtime/torch/device/prepared_images.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/where.h>

namespace scavenger {
namespace {

// The place of each pixel in its padded image, {n, height x width}.
at::Tensor places_of(const RawImageTensors& images) {
  const std::int64_t height = images.pixels.size(2), width = images.pixels.size(3);
  const std::int64_t padded_width = width + 2 * images.padding;
  const at::Tensor changes = images.changes.to(at::kLong);
  const at::Tensor top = changes.select(1, 0).unsqueeze(1),
                   left = changes.select(1, 1).unsqueeze(1);
  const at::Tensor flips = changes.select(1, 2).unsqueeze(1).ne(0);
  const at::Tensor x = at::arange(width, changes.options()).unsqueeze(0);
  const at::Tensor columns = at::where(flips, x.neg().add_(width - 1), x).add_(left);
  const at::Tensor rows = at::arange(height, changes.options()).unsqueeze(0).add(top);
  return rows.mul(padded_width).unsqueeze(2).add(columns.unsqueeze(1)).flatten(1);
}

at::Tensor cropped(const RawImageTensors& images) {
  const at::Tensor& pixels = images.pixels;
  const std::int64_t p = images.padding;
  const at::Tensor padded =
      p == 0 ? pixels : at::constant_pad_nd(pixels, {p, p, p, p}, /*value=*/0);
  const at::Tensor places = places_of(images).unsqueeze(1);
  return padded.flatten(2)
      .gather(2, places.expand({pixels.size(0), pixels.size(1), places.size(2)}))
      .view(pixels.sizes());
}

}  // namespace

at::Tensor prepared_images(const RawImageTensors& images) {
  const auto number = [&](std::int64_t index) {
    return images.channels.select(1, index).view({1, -1, 1, 1});
  };
  return cropped(images).to(at::kFloat).mul(number(0)).sub_(number(1)).mul_(number(2));
}

}  // namespace scavenger
