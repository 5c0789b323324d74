#include "runtime/torch/layers/beam_search.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/training/data_shape.h"

namespace scavenger {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Candidate {
  TokenSequence words;
  double log_probability = 0.0;
  std::int64_t parent = 0;  // row of the previous call
};

struct Search {
  std::int64_t most_words = 0;
  std::vector<Candidate> open = {{}};
  TokenSequence best;
  double best_score = kNever;
};

double score(const Candidate& candidate, double exponent) {
  const auto length = static_cast<double>(candidate.words.size() + 1);  // including the end token
  return candidate.log_probability / std::pow((5.0 + length) / 6.0, exponent);
}

void close(Search& search, const Candidate& candidate, double exponent) {
  const double reached = score(candidate, exponent);
  if (reached <= search.best_score) return;
  search.best_score = reached;
  search.best = candidate.words;
}

// Replaces the open candidates by their likeliest continuations, which are rows [first_row, ...) of
// the two tables {rows, choices}.
void go_on(Search& search, const BeamSearch& options, std::int64_t first_row, std::int64_t choices,
           const float* log_probabilities, const std::int64_t* words) {
  struct Choice {
    double log_probability;
    std::size_t candidate;
    std::int64_t word;
  };
  std::vector<Choice> all;
  for (std::size_t i = 0; i < search.open.size(); ++i) {
    const std::int64_t row = first_row + static_cast<std::int64_t>(i);
    for (std::int64_t c = 0; c < choices; ++c)
      all.push_back({search.open[i].log_probability + log_probabilities[row * choices + c], i,
                     words[row * choices + c]});
  }
  std::stable_sort(all.begin(), all.end(), [](const Choice& a, const Choice& b) {
    return a.log_probability > b.log_probability;
  });

  std::vector<Candidate> open;
  const auto width = static_cast<std::size_t>(options.width);
  for (std::size_t i = 0; i < all.size() && open.size() < width; ++i) {
    const Candidate& from = search.open[all[i].candidate];
    Candidate next{from.words, all[i].log_probability,
                   first_row + static_cast<std::int64_t>(all[i].candidate)};
    if (all[i].word == kEndToken) {
      if (i < width) close(search, next, options.length_exponent);
      if (width == 1) break;
      continue;
    }
    next.words.push_back(all[i].word);
    open.push_back(std::move(next));
  }
  if (width == 1 && search.best_score > kNever) open.clear();
  // At best, an open candidate keeps its probability and reaches the greatest length.
  if (!open.empty()) {
    Candidate most = open.front();
    most.words.resize(static_cast<std::size_t>(search.most_words));
    if (score(most, options.length_exponent) <= search.best_score) open.clear();
  }
  const bool full =
      !open.empty() && static_cast<std::int64_t>(open.front().words.size()) >= search.most_words;
  if (full && search.best_score == kNever) search.best = open.front().words;
  search.open = full ? std::vector<Candidate>{} : std::move(open);
}

}  // namespace

std::vector<TokenSequence> search_sequences(const BeamSearch& options, const NextWords& next) {
  SCAVENGER_CHECK(options.width >= 1);
  std::vector<Search> searches;
  for (const std::int64_t most : options.most_words) {
    searches.emplace_back();
    searches.back().most_words = most;
    searches.back().open.front().parent = static_cast<std::int64_t>(searches.size()) - 1;
    if (most < 1) searches.back().open.clear();
  }
  for (;;) {
    std::vector<std::int64_t> words;
    std::vector<std::int64_t> parents;
    for (const Search& search : searches)
      for (const Candidate& candidate : search.open) {
        words.push_back(candidate.words.empty() ? kBeginToken : candidate.words.back());
        parents.push_back(candidate.parent);
      }
    if (words.empty()) break;
    const at::Tensor table = next(at::tensor(words), at::tensor(parents));
    const std::int64_t width = std::min(options.width + 1, table.size(1));
    const auto [log_probabilities, chosen] = at::topk(table, width, 1);
    const at::Tensor scores = log_probabilities.to(at::kCPU, at::kFloat).contiguous();
    const at::Tensor choices = chosen.to(at::kCPU).contiguous();
    std::int64_t row = 0;
    for (Search& search : searches) {
      const auto rows = static_cast<std::int64_t>(search.open.size());
      if (rows > 0)
        go_on(search, options, row, width, scores.const_data_ptr<float>(),
              choices.const_data_ptr<std::int64_t>());
      row += rows;
    }
  }
  std::vector<TokenSequence> results;
  for (Search& search : searches) results.push_back(std::move(search.best));
  return results;
}

}  // namespace scavenger
