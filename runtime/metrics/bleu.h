// Corpus BLEU (Papineni et al., 2002) with one reference per sentence, over words as they are. It
// equals sacrebleu's score with --tokenize none and the other defaults. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/training/evaluation_sums.h"

namespace scavenger {

// Returns the words of a sequence of tokens: without a leading kBeginToken, and up to kEndToken or
// padding.
std::span<const std::int64_t> words_of(std::span<const std::int64_t> tokens);

// Adds one sentence. kUnknownToken matches no word, not even another kUnknownToken: the words that
// they stand for are unknown, so they must not raise the score.
void add_sentence(std::span<const std::int64_t> hypothesis, std::span<const std::int64_t> reference,
                  BleuStatistics& statistics);

// Returns 0 to 100. The first n-gram order without a match counts as half a match, the second as a
// quarter, ..., like sacrebleu's "exp" smoothing. Returns 0 if there is no match at all.
double bleu_score(const BleuStatistics& statistics);

}  // namespace scavenger
