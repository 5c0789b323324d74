// The shape of a data set's samples: everything that is needed to build a model for the data.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger {

// The first tokens of every vocabulary.
inline constexpr std::int64_t kPaddingToken = 0;  // no token; nothing is predicted there
inline constexpr std::int64_t kUnknownToken = 1;  // a word that is not in the vocabulary
inline constexpr std::int64_t kBeginToken = 2;
inline constexpr std::int64_t kEndToken = 3;
inline constexpr std::int64_t kFirstWordToken = 4;

enum class TargetKind {
  kLabel,       // one class: Batch::labels, {size}
  kValues,      // numbers: Batch::values, {size, target_shape...}
  kNextTokens,  // for each input token the next one: Batch::labels, {size, length}
  // kBeginToken, words, kEndToken, padding: Batch::labels, {size, length}. All tokens but the first
  // are predicted, each from the previous ones.
  kSequence,
};

struct DataShape {
  // Floats: {channels, height, width} or {features}. Tokens: {length of the longest sample}.
  std::vector<std::int64_t> sample_shape;
  std::uint32_t vocabulary = 0;  // inputs are tokens in [0, vocabulary); 0: they are floats
  TargetKind target = TargetKind::kLabel;
  std::uint32_t classes = 0;  // labels are in [0, classes), even if they are tokens
  // Values: the shape of one target. Tokens: {length of the longest target}.
  std::vector<std::int64_t> target_shape;

  bool operator==(const DataShape&) const = default;
};

}  // namespace scavenger
