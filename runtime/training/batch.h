// The input of a model: dense tensors in host memory, ready to use.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/training/cache_line_vector.h"
#include "runtime/training/raw_images.h"

namespace scavenger {

// Samples [first_position, first_position + size) of the job's sample order, normalised, augmented
// and padded. The buffers are reused from batch to batch, so a consumer must not keep views of
// them. The data set's DataShape decides which of them are filled.
struct Batch {
  std::uint64_t first_position = 0;  // in the global sample order
  std::uint32_t size = 0;            // number of samples
  std::vector<std::int64_t>
      // {channels, height, width} or {features}; tokens: {length of the longest sample}
      sample_shape;
  // The inputs, size x product(sample_shape), row-major, are in one of these three.
  CacheLineVector<float> features;
  std::vector<std::int64_t> tokens;  // shorter samples end in kPaddingToken
  RawImages raw_images;              // only for a trainer that prepares them itself

  // The shape of one target: {} for a label, {length} for tokens.
  std::vector<std::int64_t> target_shape;
  // The targets, size x product(target_shape), row-major, are in one of these two.
  std::vector<std::int64_t> labels;  // class labels, or tokens that end in kPaddingToken
  std::vector<float> values;

  // The number of loss terms per sample, as a mean over the whole global batch: 1 for labels, the
  // number of values, or the mean number of predicted tokens. The loss of this batch is the sum of
  // its terms / (size x loss_terms). Weighted with b_k / B, the workers' gradients then add up to
  // the gradient of the mean over all terms of the global batch, however long the sentences of each
  // worker are.
  double loss_terms = 1.0;
};

}  // namespace scavenger
