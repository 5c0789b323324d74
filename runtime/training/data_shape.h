// The form of a data set's samples: all that a model must know of the data to be built.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger {

// The first tokens of every vocabulary.
inline constexpr std::int64_t kPaddingToken =
    0;  // nothing is there, and nothing is to be predicted
inline constexpr std::int64_t kUnknownToken = 1;  // a word that the vocabulary does not have
inline constexpr std::int64_t kBeginToken = 2;
inline constexpr std::int64_t kEndToken = 3;
inline constexpr std::int64_t kFirstWordToken = 4;

enum class TargetKind {
  kLabel,       // one class: Batch::labels, {size}
  kValues,      // numbers: Batch::values, {size, target_shape...}
  kNextTokens,  // for each input token the one that follows: Batch::labels, {size, length}
  kSequence,    // kBeginToken, words, kEndToken, padding: Batch::labels, {size, length}. What is to
                // be predicted is all but the first token, each from those before it.
};

struct DataShape {
  // Floats: {channels, height, width} or {features}. Tokens: {length}, the most that one has.
  std::vector<std::int64_t> sample_shape;
  std::uint32_t vocabulary = 0;  // inputs are tokens in [0, vocabulary); 0: they are floats
  TargetKind target = TargetKind::kLabel;
  std::uint32_t classes = 0;               // labels are in [0, classes), also where they are tokens
  std::vector<std::int64_t> target_shape;  // of values; of tokens {length}, the most that one has

  bool operator==(const DataShape&) const = default;
};

}  // namespace scavenger
