#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/data/readers/source_readers.h"
#include "test/unit/runtime/data/data_files.h"

namespace scavenger {
namespace {

constexpr std::uint32_t kLabels = 4;

SampleTable make(std::uint64_t first_sample, std::uint64_t samples, double label_noise) {
  DataSourceConfig source;
  source.format = DataFormat::kSynthetic;
  source.samples = samples;
  source.feature_count = 6;
  source.first_sample = first_sample;
  source.label_noise = label_noise;
  return read_source(source, kLabels);
}

double agreement(const SampleTable& a, const SampleTable& b) {
  double equal = 0;
  for (std::size_t i = 0; i < a.labels.size(); ++i) equal += a.labels[i] == b.labels[i];
  return equal / static_cast<double>(a.labels.size());
}

}  // namespace

TEST_CASE("Synthetic splits are parts of one stream of draws") {
  const SampleTable all = make(0, 30, 0.3);

  const SampleTable tail = make(20, 10, 0.3);

  CHECK(tail.floats == std::vector<float>(all.floats.end() - 10 * 6, all.floats.end()));
  CHECK(tail.labels == std::vector<std::int32_t>(all.labels.end() - 10, all.labels.end()));
}

TEST_CASE("Synthetic features are standard normal") {
  const SampleTable table = make(0, 20000, 0.0);

  double sum = 0.0;
  double sqr_sum = 0.0;
  for (const float x : table.floats) {
    sum += static_cast<double>(x);
    sqr_sum += static_cast<double>(x) * static_cast<double>(x);
  }
  const auto count = static_cast<double>(table.floats.size());

  // Five standard errors.
  CHECK(std::abs(sum / count) < 5.0 / std::sqrt(count));
  CHECK(std::abs(sqr_sum / count - 1.0) < 5.0 * std::sqrt(2.0 / count));
}

TEST_CASE("Label noise costs the teacher the documented accuracy, and leaves the features alone") {
  constexpr double kNoise = 0.4;
  const SampleTable clean = make(0, 20000, 0.0);

  const SampleTable noisy = make(0, 20000, kNoise);

  const double expected = 1.0 - kNoise * (1.0 - 1.0 / kLabels);
  const double standard_error = std::sqrt(expected * (1.0 - expected) / 20000.0);
  CHECK(noisy.floats == clean.floats);
  CHECK(std::abs(agreement(clean, noisy) - expected) < 5.0 * standard_error);
}

TEST_CASE("Clean synthetic labels are a linear function of the features") {
  const SampleTable table = make(0, 2000, 0.0);
  const SampleTable fresh = make(2000, 500, 0.0);
  std::vector<double> weights(kLabels * 6, 0.0);
  const auto predict = [&](const float* x) {
    std::vector<double> scores(kLabels, 0.0);
    for (std::size_t i = 0; i < weights.size(); ++i)
      scores[i / 6] += weights[i] * static_cast<double>(x[i % 6]);
    return static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) -
                                     scores.begin());
  };

  // The perceptron converges on what a linear rule separates.
  for (int pass = 0; pass < 30; ++pass)
    for (std::size_t i = 0; i < table.labels.size(); ++i) {
      const float* x = &table.floats[6 * i];
      const std::int32_t guess = predict(x);
      for (std::size_t j = 0; j < 6 && guess != table.labels[i]; ++j) {
        weights[static_cast<std::size_t>(table.labels[i]) * 6 + j] += static_cast<double>(x[j]);
        weights[static_cast<std::size_t>(guess) * 6 + j] -= static_cast<double>(x[j]);
      }
    }
  double correct = 0;
  for (std::size_t i = 0; i < fresh.labels.size(); ++i)
    correct += predict(&fresh.floats[6 * i]) == fresh.labels[i];

  CHECK(correct / static_cast<double>(fresh.labels.size()) > 0.95);
}

TEST_CASE("A synthetic data set without samples or of absurd size is an error") {
  CHECK_THAT(data_error_of([] { make(0, 0, 0.0); }), Catch::Contains("data.train"));
  CHECK_THAT(data_error_of([] { make(0, ~std::uint64_t{0}, 0.0); }), Catch::Contains("2^34"));
}

}  // namespace scavenger
