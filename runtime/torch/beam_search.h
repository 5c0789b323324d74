// The likeliest continuation, kept to a few candidates at each step: beam search with the length
// penalty of Wu et al., "Google's Neural Machine Translation System", 2016, eq. 14.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/torch/model.h"

namespace scavenger {

struct BeamSearch {
  std::int64_t width = 1;                // candidates per sequence; 1: greedy
  double length_exponent = 0.6;          // score = log P / ((5 + length) / 6)^exponent
  std::vector<std::int64_t> most_words;  // of each sequence
};

// Log-probabilities {n, vocabulary} of what follows `words` {n}, the latest word of each candidate.
// Candidate i goes on from candidate parents[i] of the call before.
using NextWords = std::function<at::Tensor(const at::Tensor& words, const at::Tensor& parents)>;

// One sequence for each of most_words, without begin and end tokens. A sequence that does not end
// by itself is cut at its limit.
std::vector<TokenSequence> search_sequences(const BeamSearch& search, const NextWords& next);

}  // namespace scavenger
