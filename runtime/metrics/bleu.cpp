#include "runtime/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "runtime/training/data_shape.h"

namespace scavenger {
namespace {

using Ngram = std::vector<std::int64_t>;

std::uint64_t ngram_count(std::size_t words, std::size_t order) {
  return words < order ? 0 : words - order + 1;
}

// Counts the n-grams that consist of known words.
std::map<Ngram, std::uint64_t> count_ngrams(std::span<const std::int64_t> words,
                                            std::size_t order) {
  std::map<Ngram, std::uint64_t> counts;
  for (std::size_t i = 0; i < ngram_count(words.size(), order); ++i) {
    const auto ngram = words.subspan(i, order);
    if (std::ranges::find(ngram, kUnknownToken) == ngram.end())
      ++counts[Ngram(ngram.begin(), ngram.end())];
  }
  return counts;
}

std::uint64_t count_matches(std::span<const std::int64_t> hypothesis,
                            std::span<const std::int64_t> reference, std::size_t order) {
  const auto wanted = count_ngrams(reference, order);
  std::uint64_t matches = 0;
  for (const auto& [ngram, count] : count_ngrams(hypothesis, order))
    if (const auto same = wanted.find(ngram); same != wanted.end())
      matches += std::min(count, same->second);
  return matches;
}

}  // namespace

std::span<const std::int64_t> words_of(std::span<const std::int64_t> tokens) {
  if (!tokens.empty() && tokens.front() == kBeginToken) tokens = tokens.subspan(1);
  const auto end = std::ranges::find_if(
      tokens, [](std::int64_t token) { return token == kEndToken || token == kPaddingToken; });
  return tokens.first(static_cast<std::size_t>(end - tokens.begin()));
}

void add_sentence(std::span<const std::int64_t> hypothesis, std::span<const std::int64_t> reference,
                  BleuStatistics& statistics) {
  statistics.hypothesis_words += hypothesis.size();
  statistics.reference_words += reference.size();
  for (std::size_t n = 0; n < BleuStatistics::kOrders; ++n) {
    statistics.ngrams[n] += ngram_count(hypothesis.size(), n + 1);
    statistics.matches[n] += count_matches(hypothesis, reference, n + 1);
  }
}

double bleu_score(const BleuStatistics& statistics) {
  if (std::ranges::all_of(statistics.matches, [](std::uint64_t m) { return m == 0; })) return 0.0;
  double log_sum = 0.0;
  double smoothing = 1.0;
  for (std::size_t n = 0; n < BleuStatistics::kOrders; ++n) {
    const auto ngrams = static_cast<double>(statistics.ngrams[n]);
    if (ngrams == 0.0) return 0.0;  // no hypothesis has that many words
    if (statistics.matches[n] == 0) smoothing *= 2.0;
    const double matches =
        statistics.matches[n] == 0 ? 1.0 / smoothing : static_cast<double>(statistics.matches[n]);
    log_sum += std::log(matches / ngrams);
  }
  const auto hypothesis = static_cast<double>(statistics.hypothesis_words);
  const auto reference = static_cast<double>(statistics.reference_words);
  const double brevity = hypothesis < reference ? 1.0 - reference / hypothesis : 0.0;
  return 100.0 * std::exp(brevity + log_sum / static_cast<double>(BleuStatistics::kOrders));
}

}  // namespace scavenger
