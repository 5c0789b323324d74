#include "runtime/torch/trainer/objective.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "runtime/base/random.h"

namespace scavenger {
namespace {

Objective of_classes(std::uint32_t classes) {
  DataShape shape;
  shape.classes = classes;
  return Objective(LossConfig{}, shape);
}

EvaluationSums of_one(std::vector<float> logits, std::int64_t label) {
  const auto classes = static_cast<std::int64_t>(logits.size());
  const at::Tensor predictions = at::tensor(logits).reshape({1, classes});
  return of_classes(static_cast<std::uint32_t>(classes))
      .evaluate(predictions, at::tensor(std::vector<std::int64_t>{label}));
}

TEST_CASE("a label counts as close where it is among the five likeliest classes") {
  const std::vector<float> logits = {0.0f, 6.0f, 5.0f, 4.0f, 3.0f, 2.0f, 1.0f};
  CHECK(of_one(logits, 1).correct_in_top5 == 1);
  CHECK(of_one(logits, 1).correct == 1);
  CHECK(of_one(logits, 5).correct_in_top5 == 1);
  CHECK(of_one(logits, 5).correct == 0);
  CHECK(of_one(logits, 6).correct_in_top5 == 0);
  CHECK(of_one(logits, 0).correct_in_top5 == 0);
}

TEST_CASE("of equal classes the first ones are the likelier, and what is no number helps nobody") {
  const std::vector<float> equal(7, 1.0f);
  CHECK(of_one(equal, 4).correct_in_top5 == 1);
  CHECK(of_one(equal, 5).correct_in_top5 == 0);
  const std::vector<float> none(7, std::numeric_limits<float>::quiet_NaN());
  CHECK(of_one(none, 0).correct_in_top5 == 0);
}

TEST_CASE("of five classes or fewer nothing is counted") {
  CHECK(of_one({1.0f, 2.0f, 3.0f, 4.0f, 5.0f}, 0).correct_in_top5 == 0);
}

TEST_CASE("the sums of many samples are those of sorting each") {
  constexpr std::int64_t kSamples = 300, kClasses = 12;
  RandomStream random(3, "objective");
  const at::Tensor predictions = at::zeros({kSamples, kClasses});
  float* const logits = predictions.data_ptr<float>();
  std::vector<std::int64_t> labels;
  std::uint64_t expected = 0;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    float* const row = logits + i * kClasses;
    for (std::int64_t c = 0; c < kClasses; ++c) row[c] = static_cast<float>(random.uniform());
    labels.push_back(static_cast<std::int64_t>(random.below(kClasses)));
    std::vector<float> sorted(row, row + kClasses);
    std::ranges::sort(sorted, std::greater<>());
    if (row[labels.back()] >= sorted[4]) ++expected;
  }
  const EvaluationSums sums = of_classes(kClasses).evaluate(predictions, at::tensor(labels));
  CHECK(sums.correct_in_top5 == expected);
  CHECK(sums.correct_in_top5 >= sums.correct);
}

}  // namespace
}  // namespace scavenger
