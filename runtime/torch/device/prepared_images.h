// Crops, mirrors and normalises the images of a batch on the device of the model, with the bits of
// the loader's own code for the CPU (runtime/data/sample_transform.h): integers choose pixels, and
// each of the three steps of the normalisation is rounded to float.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace scavenger {

// Images of a batch, on one device. Not defined if a batch has none.
struct RawImageTensors {
  at::Tensor pixels;    // {n, channels, height, width}, of bytes or floats
  at::Tensor changes;   // {n, 3}, of int32: RawImages::changes
  at::Tensor channels;  // {1 or channels, 3}, of float: the numbers of ChannelNormalisation
  std::int64_t padding = 0;
};

// Returns floats of the shape of the pixels, on their device.
at::Tensor prepared_images(const RawImageTensors& images);

}  // namespace scavenger
