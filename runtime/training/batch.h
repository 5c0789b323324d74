// What a model is fed: dense tensors in host memory, ready to use.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger {

// Samples [first_position, first_position + size) of the job's sample order, assembled: normalised,
// augmented, padded. The buffers are reused from batch to batch; a consumer must not keep views of
// them. Which of them are filled follows from the data set's DataShape.
struct Batch {
  std::uint64_t first_position = 0;  // in the global sample order
  std::uint32_t size = 0;            // number of samples
  std::vector<std::int64_t>
      sample_shape;  // of one sample: {channels, height, width} or {features};
                     // of tokens: {length of the longest one here}
  // The inputs, size x product(sample_shape), row-major, in one of these two.
  std::vector<float> features;
  std::vector<std::int64_t> tokens;  // shorter samples end in kPaddingToken

  std::vector<std::int64_t> target_shape;  // of one target: {} for a label, {length} for tokens
  // The targets, size x product(target_shape), row-major, in one of these two.
  std::vector<std::int64_t> labels;  // class labels, or tokens that end in kPaddingToken
  std::vector<float> values;

  // Terms that the loss of one sample has, as a mean over the whole global batch of which this is a
  // part: 1 for a label, the number of values, the mean number of tokens to be predicted. The loss
  // whose gradient is wanted is the sum of all terms here / (size x loss_terms): weighted with
  // b_k / B, the workers' gradients then add up to that of the mean over all terms of the global
  // batch, however long the sentences of each worker are.
  double loss_terms = 1.0;
};

}  // namespace scavenger
