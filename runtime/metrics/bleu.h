// Corpus BLEU (Papineni et al., 2002) of one reference each, over words as they are: what
// sacrebleu prints with --tokenize none and its other defaults. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/training/evaluation_sums.h"

namespace scavenger {

// Of a sequence of tokens: without kBeginToken in front, and up to kEndToken or padding.
std::span<const std::int64_t> words_of(std::span<const std::int64_t> tokens);

// Adds one sentence. A word that is kUnknownToken equals no word, not even another of its kind:
// which words they stand for is not known, and translations are not to be praised for them.
void add_sentence(std::span<const std::int64_t> hypothesis, std::span<const std::int64_t> reference,
                  BleuStatistics& statistics);

// 0 to 100. An n-gram order without any match counts as half a match, a quarter, ... as sacrebleu's
// "exp" smoothing does; 0 where there is no match at all.
double bleu_score(const BleuStatistics& statistics);

}  // namespace scavenger
