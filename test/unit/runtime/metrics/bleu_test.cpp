#include "runtime/metrics/bleu.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "runtime/training/data_shape.h"

namespace scavenger {
namespace {

using Words = std::vector<std::int64_t>;

BleuStatistics statistics_of(const Words& hypothesis, const Words& reference) {
  BleuStatistics statistics;
  add_sentence(hypothesis, reference, statistics);
  return statistics;
}

TEST_CASE("A translation that is the reference has 100, and one without a common word 0") {
  const Words reference = {10, 11, 12, 13, 14};

  CHECK(bleu_score(statistics_of(reference, reference)) == Approx(100.0));
  CHECK(bleu_score(statistics_of({20, 21, 22, 23, 24}, reference)) == 0.0);
  CHECK(bleu_score(statistics_of({}, reference)) == 0.0);
}

TEST_CASE("A word counts as often as the reference has it") {
  // "the the the the the the the" against "the cat is on the mat" (Papineni et al., 2002).
  const BleuStatistics statistics = statistics_of({5, 5, 5, 5, 5, 5, 5}, {5, 6, 7, 8, 5, 9});

  CHECK(statistics.matches == std::array<std::uint64_t, 4>{2, 0, 0, 0});
  CHECK(statistics.ngrams == std::array<std::uint64_t, 4>{7, 6, 5, 4});
  CHECK(statistics.hypothesis_words == 7);
  CHECK(statistics.reference_words == 6);
}

TEST_CASE("Short translations are worth less, long ones are not worth more") {
  const Words reference = {10, 11, 12, 13, 14, 15, 16, 17};
  const Words half = {10, 11, 12, 13};

  CHECK(bleu_score(statistics_of(half, reference)) == Approx(100.0 * std::exp(1.0 - 8.0 / 4.0)));
  CHECK(bleu_score(statistics_of(reference, half)) < 100.0);
}

TEST_CASE("An unknown word matches nothing") {
  const Words words = {10, kUnknownToken, 12, 13};

  const BleuStatistics statistics = statistics_of(words, words);

  CHECK(statistics.matches == std::array<std::uint64_t, 4>{3, 1, 0, 0});
  CHECK(statistics.ngrams == std::array<std::uint64_t, 4>{4, 3, 2, 1});
}

TEST_CASE("The words of a sequence are those between its marks") {
  const Words tokens = {kBeginToken, 10, 11, kEndToken, 12, kPaddingToken};
  const Words unfinished = {10, 11, kPaddingToken, kPaddingToken};

  const auto words = words_of(tokens);

  CHECK(Words(words.begin(), words.end()) == Words{10, 11});
  CHECK(words_of(unfinished).size() == 2);
  CHECK(words_of({}).empty());
}

TEST_CASE("Parts of a corpus add up to the whole") {
  BleuStatistics whole = statistics_of({10, 11, 12, 13, 14}, {10, 11, 12, 13, 15});
  const BleuStatistics first = whole;
  add_sentence(Words{20, 21}, Words{20, 21, 22}, whole);
  BleuStatistics sum = first;

  sum += statistics_of({20, 21}, {20, 21, 22});

  CHECK(sum == whole);
}

}  // namespace
}  // namespace scavenger
