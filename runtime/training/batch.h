// What a model is fed: dense tensors in host memory, ready to use.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger {

// Samples [first_position, first_position + size) of the job's sample order, assembled: normalised,
// augmented. The buffers are reused from batch to batch; a consumer must not keep views of them.
struct Batch {
  std::uint64_t first_position = 0;        // in the global sample order
  std::uint32_t size = 0;                  // number of samples
  std::vector<std::int64_t> sample_shape;  // of one sample: {channels, height, width} or {features}
  std::vector<float> features;             // size x product(sample_shape), row-major
  std::vector<std::int64_t> labels;        // size
};

}  // namespace scavenger
