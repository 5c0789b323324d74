// The sums of an evaluation. They can be added over batches and workers; runtime/metrics computes
// metrics from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace scavenger {

// Counts of n-grams, n = 1 to 4, over a corpus (Papineni et al., 2002); runtime/metrics/bleu.h
// fills them.
struct BleuStatistics {
  static constexpr std::size_t kOrders = 4;
  std::uint64_t hypothesis_words = 0;
  std::uint64_t reference_words = 0;
  // Matches with the reference; an n-gram counts at most as often as it occurs there.
  std::array<std::uint64_t, kOrders> matches{};
  std::array<std::uint64_t, kOrders> ngrams{};  // in the hypotheses

  BleuStatistics& operator+=(const BleuStatistics& part) {
    hypothesis_words += part.hypothesis_words;
    reference_words += part.reference_words;
    for (std::size_t n = 0; n < kOrders; ++n) {
      matches[n] += part.matches[n];
      ngrams[n] += part.ngrams[n];
    }
    return *this;
  }
  bool operator==(const BleuStatistics&) const = default;
};

struct EvaluationSums {
  std::uint64_t samples = 0;             // images, sentences, sequences
  std::uint64_t predictions = 0;         // predicted labels, values, or tokens other than padding
  std::uint64_t correct = 0;             // correct predictions
  std::uint64_t correct_in_top5 = 0;     // those with the label among the five likeliest classes
  double loss = 0.0;                     // the job's loss, summed over predictions
  double negative_log_likelihood = 0.0;  // sum over predictions; classes and tokens only
  double squared_error = 0.0;            // sum over predictions; values only
  BleuStatistics bleu;                   // sequences only, and if the job measures it

  EvaluationSums& operator+=(const EvaluationSums& part) {
    samples += part.samples;
    predictions += part.predictions;
    correct += part.correct;
    correct_in_top5 += part.correct_in_top5;
    loss += part.loss;
    negative_log_likelihood += part.negative_log_likelihood;
    squared_error += part.squared_error;
    bleu += part.bleu;
    return *this;
  }
  bool operator==(const EvaluationSums&) const = default;
};

}  // namespace scavenger
