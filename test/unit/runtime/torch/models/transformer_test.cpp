// What gradient_reference_test.py cannot see: how a transformer writes sequences, and dropout.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "runtime/torch/layers/beam_search.h"
#include "runtime/torch/layers/dropout.h"
#include "runtime/torch/models/model_registry.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

DataShape small_pairs() {
  DataShape data;
  data.sample_shape = {7};
  data.vocabulary = 15;
  data.target = TargetKind::kSequence;
  data.classes = 12;
  data.target_shape = {9};
  return data;
}

std::unique_ptr<Model> small_transformer() {
  ModelConfig config;
  config.type = ModelType::kTransformerTiny;
  config.transformer = {.width = 16,
                        .heads = 2,
                        .inner = 20,
                        .encoder_layers = 2,
                        .decoder_layers = 2,
                        .dropout = 0.3,
                        .normalise_first = true,
                        .shared_embeddings = SharedEmbeddings::kNone};
  auto model = make_model(config, small_pairs(), {});
  for (const Parameter& parameter : model->parameters()) {
    RandomStream stream(5, "weights", {parameter.place});
    // Far from zero, so that the likeliest word depends on the others.
    float* const values = parameter.tensor.data_ptr<float>();
    for (std::int64_t i = 0; i < parameter.tensor.numel(); ++i)
      values[i] = static_cast<float>(stream.normal());
  }
  model->set_training(false);
  return model;
}

at::Tensor sources(std::uint32_t count) {
  RandomStream stream(9, "sources");
  return at::tensor(random_tokens(count, 7, 15, stream, false)).view({count, 7});
}

// A word's probability depends on the one before it and on how many there were.
double log_probability(std::int64_t before, std::int64_t word, std::size_t place) {
  return -std::fmod(1.7 * static_cast<double>(before) * static_cast<double>(word) +
                        2.3 * static_cast<double>(place) + 0.9 * static_cast<double>(word),
                    3.0);
}

constexpr std::int64_t kWords = 7;
constexpr std::int64_t kMost = 4;

struct Best {
  TokenSequence words;
  double score = -1e9;
};

void enumerate(TokenSequence& words, double sum, Best& best) {
  const std::int64_t before = words.empty() ? kBeginToken : words.back();
  const double ended = sum + log_probability(before, kEndToken, words.size());
  const double score = ended / std::pow((5.0 + static_cast<double>(words.size()) + 1.0) / 6.0, 0.6);
  if (score > best.score) best = {words, score};
  if (static_cast<std::int64_t>(words.size()) + 1 >= kMost) return;
  for (std::int64_t word = 0; word < kWords; ++word) {
    if (word == kEndToken) continue;
    const double next = sum + log_probability(before, word, words.size());
    words.push_back(word);
    enumerate(words, next, best);
    words.pop_back();
  }
}

TokenSequence search(std::int64_t width) {
  std::vector<std::vector<std::int64_t>> histories = {{}};
  BeamSearch options;
  options.width = width;
  options.most_words = {kMost};
  std::size_t place = 0;
  return search_sequences(options, [&](const at::Tensor& words, const at::Tensor&) {
    at::Tensor table = at::zeros({words.size(0), kWords});
    for (std::int64_t row = 0; row < words.size(0); ++row)
      for (std::int64_t word = 0; word < kWords; ++word)
        table.data_ptr<float>()[row * kWords + word] =
            static_cast<float>(log_probability(words[row].item<std::int64_t>(), word, place));
    ++place;
    return table;
  })[0];
}

}  // namespace

TEST_CASE("A beam that is wide enough finds the best sequence of all") {
  TokenSequence words;
  Best best;
  enumerate(words, 0.0, best);

  CHECK(search(300) == best.words);
}

TEST_CASE("Greedy search takes the likeliest word each time") {
  TokenSequence expected;
  std::int64_t before = kBeginToken;
  while (static_cast<std::int64_t>(expected.size()) < kMost) {
    std::int64_t likeliest = 0;
    for (std::int64_t word = 1; word < kWords; ++word)
      if (log_probability(before, word, expected.size()) >
          log_probability(before, likeliest, expected.size()))
        likeliest = word;
    if (likeliest == kEndToken) break;
    expected.push_back(before = likeliest);
  }

  CHECK(search(1) == expected);
}

TEST_CASE("Word by word a transformer writes what its whole forward pass finds likeliest") {
  const at::NoGradGuard no_gradients;
  const auto model = small_transformer();
  const at::Tensor source = sources(6);

  const auto written = model->write_sequences(source, 1);

  REQUIRE(written.size() == 6);
  std::size_t longest = 0;
  for (std::int64_t i = 0; i < 6; ++i) {
    const TokenSequence& words = written[static_cast<std::size_t>(i)];
    longest = std::max(longest, words.size());
    TokenSequence target = {kBeginToken};
    target.insert(target.end(), words.begin(), words.end());
    target.push_back(kEndToken);
    ModelInput input;
    input.samples = source.narrow(0, i, 1);
    input.targets = at::tensor(target).unsqueeze(0);
    input.predicted = at::arange(static_cast<std::int64_t>(target.size()) - 1);
    const at::Tensor likeliest = at::argmax(model->forward(input), 1);
    for (std::size_t t = 0; t < words.size(); ++t)
      CHECK(likeliest[static_cast<std::int64_t>(t)].item<std::int64_t>() == words[t]);
  }
  CHECK(longest > 1);  // else nothing was gone on from
}

TEST_CASE("Several candidates per sequence are kept apart, whatever the others in the batch do") {
  const at::NoGradGuard no_gradients;
  const auto model = small_transformer();
  const at::Tensor source = sources(4);

  const auto together = model->write_sequences(source, 3);

  for (std::int64_t i = 0; i < 4; ++i)
    CHECK(model->write_sequences(source.narrow(0, i, 1), 3)[0] ==
          together[static_cast<std::size_t>(i)]);
}

TEST_CASE("Operators of integers make the mask that the CPU makes, to the bit") {
  const std::vector<std::uint64_t> samples = {0, 1, 12345678901234567u, ~std::uint64_t{0}};
  constexpr std::uint32_t kRow = 5003;
  for (const double share : {0.0, 0.1, 0.5, 0.9}) {
    std::vector<MaskKey> keys;
    const at::Tensor numbers = at::zeros({2, static_cast<std::int64_t>(samples.size())}, at::kInt);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      keys.push_back(mask_key(samples[i], 3));
      numbers.data_ptr<std::int32_t>()[i] = static_cast<std::int32_t>(keys[i].key);
      numbers.data_ptr<std::int32_t>()[samples.size() + i] =
          static_cast<std::int32_t>(keys[i].step);
    }

    const at::Tensor expected = mask_on_cpu(keys, kRow, share);
    CHECK(mask_by_operators(numbers, kRow, share).equal(expected));
    CHECK(expected.gt(0).to(at::kDouble).mean().item<double>() == Approx(1.0 - share).margin(0.02));
  }
}

TEST_CASE("What dropout takes of a sample does not depend on the batch or its padding") {
  class Empty final : public Model {
    at::Tensor forward(const ModelInput&) override { return {}; }
  } model;
  const DropoutLayer first(model, 0.25);
  const DropoutLayer second(model, 0.25);

  model.use_keys({11, 12, 13});
  const at::Tensor batch = first(at::ones({3, 40, 10}));
  model.use_keys({12});
  const at::Tensor alone = first(at::ones({1, 60, 10}));

  CHECK(batch[1].equal(alone[0].narrow(0, 0, 40)));
  CHECK_FALSE(batch[0].equal(batch[1]));
  CHECK_FALSE(second(at::ones({1, 60, 10})).equal(alone));
  const double kept = batch.gt(0).sum().item<double>() / 1200.0;
  CHECK(kept == Approx(0.75).margin(0.06));  // 5 standard deviations
  CHECK(batch.max().item<float>() == Approx(1.0f / 0.75f));
}

}  // namespace scavenger
