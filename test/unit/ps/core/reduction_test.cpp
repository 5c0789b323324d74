#include "ps/core/reduction.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "test/unit/ps/core/random_floats.h"

using namespace scavenger::ps;
using scavenger::OptimizerConfig;

namespace {

OptimizerStep unit_step() {
  return Optimizer(OptimizerConfig{}).step(1.0, 1);
}

double naive_sqr_norm(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

struct Update {
  std::vector<float> weights;
  std::vector<double> rank_sqr_norms;
  double sqr_norm = 0.0;
};

// From zero weights with a step of 1: the weights are then minus the sum of the gradients.
Update reduce(const std::vector<std::vector<float>>& gradients,
              const std::vector<std::uint32_t>& batch_sizes) {
  const auto shares = batch_shares(batch_sizes);
  std::vector<Contribution> contributions;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    contributions.push_back({.gradient = gradients[k].data(), .share = shares[k]});
  }
  Update update{.weights = std::vector<float>(gradients[0].size(), 0.0F),
                .rank_sqr_norms = std::vector<double>(gradients.size()),
                .sqr_norm = 0.0};
  update.sqr_norm = ChunkReducer().update(contributions, unit_step(), {update.weights, {}},
                                          {update.weights, {}}, update.rank_sqr_norms);
  return update;
}

}  // namespace

TEST_CASE("gradients are weighted by b_k / B and added in rank order, unfused") {
  const std::size_t n = 5003;
  const std::vector<std::vector<float>> gradients = {random_floats(n, 1), random_floats(n, 2),
                                                     random_floats(n, 3)};

  const Update update = reduce(gradients, {5, 1, 10});

  std::vector<float> sums(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float p0 = gradients[0][i] * (5.0F / 16), p1 = gradients[1][i] * (1.0F / 16);
    const float p2 = gradients[2][i] * (10.0F / 16);
    sums[i] = (p0 + p1) + p2;
    REQUIRE(update.weights[i] == -sums[i]);
  }
  CHECK(update.sqr_norm == Approx(naive_sqr_norm(sums)).epsilon(1e-6));
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(update.rank_sqr_norms[k] == Approx(naive_sqr_norm(gradients[k])).epsilon(1e-6));
  }
}

TEST_CASE("norms of a whole chunk are within 1e-7 of sums in double") {
  const std::size_t n = 1 << 18;
  const std::vector<std::vector<float>> gradients = {random_floats(n, 1), random_floats(n, 2)};

  const Update update = reduce(gradients, {1, 1});

  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(update.rank_sqr_norms[k] == Approx(naive_sqr_norm(gradients[k])).epsilon(1e-7));
  }
  CHECK(update.sqr_norm == Approx(naive_sqr_norm(update.weights)).epsilon(1e-7));
}

TEST_CASE("norms of large and small gradients neither overflow nor vanish") {
  const std::vector<float> large(1000, 1e17F), small(1000, 1e-17F);

  const Update update = reduce({large, small}, {1, 1});

  CHECK(update.rank_sqr_norms[0] == Approx(1000 * 1e34).epsilon(1e-5));
  CHECK(update.rank_sqr_norms[1] == Approx(1000 * 1e-34).epsilon(1e-5));
}

TEST_CASE("more workers than one pass takes are added in the same way") {
  const std::size_t n = 3001;
  std::vector<std::vector<float>> gradients;
  for (std::uint64_t k = 0; k < 11; ++k) gradients.push_back(random_floats(n, k));

  const Update update = reduce(gradients, std::vector<std::uint32_t>(11, 1));

  std::vector<float> sums(n, 0.0F);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < 11; ++k) {
      const float part = gradients[k][i] * static_cast<float>(1.0 / 11);
      sums[i] = k == 0 ? part : sums[i] + part;
    }
    REQUIRE(update.weights[i] == -sums[i]);
  }
  CHECK(update.sqr_norm == Approx(naive_sqr_norm(sums)).epsilon(1e-6));
  for (std::size_t k = 0; k < 11; ++k) {
    CHECK(update.rank_sqr_norms[k] == Approx(naive_sqr_norm(gradients[k])).epsilon(1e-6));
  }
}

TEST_CASE("one worker's sum is its gradient, to the bit") {
  const auto gradient = random_floats(3000, 1);

  const Update update = reduce({gradient}, {37});

  for (std::size_t i = 0; i < gradient.size(); ++i) REQUIRE(update.weights[i] == -gradient[i]);
  CHECK(update.sqr_norm == update.rank_sqr_norms[0]);
}

TEST_CASE("the same total gradient from 1, 2, 4 and 8 workers agrees to 1e-6") {
  const std::size_t n = 4096;
  std::vector<std::vector<float>> eighths;
  for (std::uint64_t k = 0; k < 8; ++k) eighths.push_back(random_floats(n, k));
  // The mean gradient over a worker's samples is the mean of those of its eighths of the batch.
  const auto mean_of = [&](std::size_t first, std::size_t count) {
    std::vector<float> mean(n);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::size_t k = first; k < first + count; ++k) sum += eighths[k][i];
      mean[i] = static_cast<float>(sum / static_cast<double>(count));
    }
    return mean;
  };
  const Update one = reduce({mean_of(0, 8)}, {64});
  const double scale = std::sqrt(naive_sqr_norm(one.weights) / static_cast<double>(n));

  for (const std::size_t workers : {2, 4, 8}) {
    std::vector<std::vector<float>> gradients;
    for (std::size_t k = 0; k < workers; ++k) {
      gradients.push_back(mean_of(k * 8 / workers, 8 / workers));
    }
    const Update several = reduce(
        gradients, std::vector<std::uint32_t>(workers, static_cast<std::uint32_t>(64 / workers)));
    for (std::size_t i = 0; i < n; ++i) {
      REQUIRE(std::abs(several.weights[i] - one.weights[i]) <= 1e-6 * scale);
    }
  }
}

TEST_CASE("unequal shares of the batch give the gradient of the whole batch") {
  const std::size_t n = 1000;
  const auto a = random_floats(n, 1), b = random_floats(n, 2);

  const Update update = reduce({a, b}, {7, 93});

  for (std::size_t i = 0; i < n; ++i) {
    const double expected = 0.07 * a[i] + 0.93 * b[i];
    REQUIRE(-update.weights[i] == Approx(expected).epsilon(1e-6).margin(1e-6));
  }
}

TEST_CASE("without norms the weights are the same") {
  const auto a = random_floats(5000, 1), b = random_floats(5000, 2);
  const std::vector<Contribution> contributions = {{.gradient = a.data(), .share = 0.25F},
                                                   {.gradient = b.data(), .share = 0.75F}};
  std::vector<float> with(5000, 1.0F), without(5000, 1.0F);
  std::vector<double> norms(2);
  ChunkReducer reducer;

  reducer.update(contributions, unit_step(), {with, {}}, {with, {}}, norms);
  const double none = reducer.update(contributions, unit_step(), {without, {}}, {without, {}}, {});

  CHECK(with == without);
  CHECK(none == 0.0);
}

TEST_CASE("chunk norms add up in the order of the chunks") {
  const std::vector<double> norms = {1e16, 1.0, -1e16};

  CHECK(sum_in_chunk_order(norms) == 0.0);  // 1 is lost in 1e16 + 1: another order would keep it
}

TEST_CASE("a step makes zero of denormal numbers, whatever the thread does elsewhere") {
  const std::vector<float> gradient(16, 1e-39F);
  std::vector<float> weights(16, 0.0F);
  std::vector<double> norms(1);
  const std::vector<Contribution> contributions = {{gradient.data(), 1.0F}};

  ChunkReducer().update(contributions, unit_step(), {weights, {}}, {weights, {}}, norms);

  CHECK(weights == std::vector<float>(16, 0.0F));
  volatile float denormal = 1e-39F;
  CHECK(denormal * 0.5F != 0.0F);  // here they are as before
}
