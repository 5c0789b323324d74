// Batches with known random content.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/training/batch.h"

namespace scavenger {

inline Batch random_batch(std::vector<std::int64_t> sample_shape, std::uint32_t size,
                          std::uint32_t classes, std::uint64_t seed = 1) {
  RandomStream stream(seed, "test batch");
  std::uint64_t sample_size = 1;
  for (const std::int64_t dimension : sample_shape)
    sample_size *= static_cast<std::uint64_t>(dimension);
  Batch batch{.size = size,
              .sample_shape = std::move(sample_shape),
              .features = {},
              .tokens = {},
              .target_shape = {},
              .labels = {},
              .values = {}};
  for (std::uint64_t i = 0; i < size * sample_size; ++i)
    batch.features.push_back(static_cast<float>(stream.normal()));
  for (std::uint32_t i = 0; i < size; ++i)
    batch.labels.push_back(static_cast<std::int64_t>(stream.below(classes)));
  return batch;
}

}  // namespace scavenger
