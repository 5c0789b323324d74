// Batches with known random content.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/training/batch.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

inline Batch random_batch(std::vector<std::int64_t> sample_shape, std::uint32_t size,
                          std::uint32_t classes, std::uint64_t seed = 1) {
  RandomStream stream(seed, "test batch");
  std::uint64_t sample_size = 1;
  for (const std::int64_t dimension : sample_shape)
    sample_size *= static_cast<std::uint64_t>(dimension);
  Batch batch;
  batch.size = size;
  batch.sample_shape = std::move(sample_shape);
  for (std::uint64_t i = 0; i < size * sample_size; ++i)
    batch.features.push_back(static_cast<float>(stream.normal()));
  for (std::uint32_t i = 0; i < size; ++i)
    batch.labels.push_back(static_cast<std::int64_t>(stream.below(classes)));
  return batch;
}

// Rows of `length`, from `first_token` on, of random lengths.
inline std::vector<std::int64_t> random_tokens(std::uint32_t rows, std::uint64_t length,
                                               std::uint32_t vocabulary, RandomStream& stream,
                                               bool has_begin) {
  std::vector<std::int64_t> tokens;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint64_t filled = row == 0 ? length : 2 + stream.below(length - 1);
    for (std::uint64_t i = 0; i < length; ++i) {
      std::int64_t token = kPaddingToken;
      if (i == 0 && has_begin)
        token = kBeginToken;
      else if (i + 1 == filled)
        token = kEndToken;
      else if (i < filled)
        token =
            kFirstWordToken + static_cast<std::int64_t>(stream.below(vocabulary - kFirstWordToken));
      tokens.push_back(token);
    }
  }
  return tokens;
}

// Of whatever kind the shape says.
inline Batch random_batch(const DataShape& shape, std::uint32_t size, std::uint64_t seed = 1) {
  if (shape.target == TargetKind::kLabel)
    return random_batch(shape.sample_shape, size, shape.classes, seed);
  RandomStream stream(seed, "test batch");
  Batch batch;
  if (shape.target == TargetKind::kValues) {
    batch = random_batch(shape.sample_shape, size, 2, seed);
    batch.labels.clear();
    batch.target_shape = shape.target_shape;
    batch.loss_terms = 1.0;
    for (const std::int64_t side : shape.target_shape)
      batch.loss_terms *= static_cast<double>(side);
    for (double i = 0; i < size * batch.loss_terms; ++i)
      batch.values.push_back(static_cast<float>(stream.uniform()));
    return batch;
  }
  const auto length = static_cast<std::uint64_t>(shape.sample_shape.front());
  batch.size = size;
  batch.sample_shape = shape.sample_shape;
  batch.tokens = random_tokens(size, length, shape.vocabulary, stream, false);
  const bool is_pair = shape.target == TargetKind::kSequence;
  batch.target_shape = is_pair ? shape.target_shape : shape.sample_shape;
  batch.labels = random_tokens(size, static_cast<std::uint64_t>(batch.target_shape.front()),
                               shape.classes, stream, is_pair);
  batch.loss_terms = 3.75;
  return batch;
}

}  // namespace scavenger
