// Beam search for the likeliest sequence, with the length penalty of Wu et al., "Google's Neural
// Machine Translation System", 2016, eq. 14.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/torch/layers/model.h"

namespace scavenger {

struct BeamSearch {
  std::int64_t width = 1;                // candidates per sequence; 1: greedy
  double length_exponent = 0.6;          // score = log P / ((5 + length) / 6)^exponent
  std::vector<std::int64_t> most_words;  // limit of each sequence
};

// Returns log-probabilities {n, vocabulary} of the next word, given `words` {n}, the last word of
// each candidate. Candidate i continues candidate parents[i] of the previous call.
using NextWords = std::function<at::Tensor(const at::Tensor& words, const at::Tensor& parents)>;

// Returns one sequence for each entry of most_words, without begin and end tokens. A sequence
// without end token is cut at its limit.
std::vector<TokenSequence> search_sequences(const BeamSearch& search, const NextWords& next);

}  // namespace scavenger
