#include "perfmodel/search/epochs_ratio.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

// ln of the noise in the next stretch of the job, as long as it has been so far, beside the noise
// as its averages tell it now: by what it grew since the job was half as old, as in the paper's
// series of two models (Pollux's runs grow more than that). Where nothing is known of the growth,
// the mean over jobs of six models (docs/results/search.md).
constexpr double kGrowthAnyway = 0.35;
constexpr double kGrowthKept = 0.8;  // share of the growth before
constexpr double kGrowthDeviation = 0.55;
constexpr double kUsualGrowth = 0.5;
constexpr double kUsualGrowthDeviation = 0.5;
// The same where earlier jobs tell of noise that grew: from the first part of a job to the whole.
constexpr double kWholeGrowthDeviation = 1.2;
constexpr double kBetweenDeviation = 0.35;  // of ln B_s between jobs of one model, at other batches
constexpr double kDeviations95 = 1.96;

// Gauss and Hermite's points and weights for a standard normal distribution.
constexpr std::array<double, 7> kPoints = {-3.750439718, -2.366759411, -1.154405395, 0.0,
                                           1.154405395,  2.366759411,  3.750439718};
constexpr std::array<double, 7> kWeights = {0.000548269, 0.030757124, 0.240123179, 0.457142857,
                                            0.240123179, 0.030757124, 0.000548269};

// Of ln B_s.
struct LogNoise {
  double mean = 0.0;
  double deviation = 0.0;
};

// The mean of two estimates, weighed by their precision.
LogNoise together(const LogNoise& a, const LogNoise& b) {
  const double of_a = std::pow(a.deviation, -2.0), of_b = std::pow(b.deviation, -2.0);
  return {(of_a * a.mean + of_b * b.mean) / (of_a + of_b), std::pow(of_a + of_b, -0.5)};
}

LogNoise growth_to_come(const std::optional<NoiseGrowth>& measured) {
  LogNoise before{kUsualGrowth, kUsualGrowthDeviation};
  if (measured && measured->deviation > 0.0)
    before = together(before, {measured->growth, measured->deviation});
  return {kGrowthAnyway + kGrowthKept * before.mean,
          std::hypot(kGrowthDeviation, kGrowthKept * before.deviation)};
}

LogNoise noise_to_come(const KnownNoise& noise) {
  const auto& earlier = noise.of_earlier_jobs;
  LogNoise own{std::log(noise.usual), kUnknownNoiseDeviation};
  if (noise.so_far && noise.so_far->scale > 0.0) {
    const LogNoise growth = growth_to_come(noise.growth);
    own = {std::log(noise.so_far->scale) + growth.mean,
           std::hypot(log_deviation(*noise.so_far),
                      earlier ? kWholeGrowthDeviation : growth.deviation)};
  }
  if (!earlier) return own;
  return together(own, {std::log(earlier->scale), log_deviation(*earlier)});
}

}  // namespace

std::optional<MeasuredNoise> noise_of_earlier_jobs(std::span<const double> scales) {
  if (scales.empty()) return std::nullopt;
  const auto count = static_cast<double>(scales.size());
  double mean = 0.0, squares = 0.0;
  for (const double scale : scales) mean += std::log(scale) / count;
  for (const double scale : scales) squares += std::pow(std::log(scale) - mean, 2.0);
  const double between = std::max(kBetweenDeviation, std::sqrt(squares / count));
  const double reach = kDeviations95 * between * std::sqrt(1.0 + 1.0 / count);
  return MeasuredNoise{std::exp(mean), std::exp(mean - reach), std::exp(mean + reach)};
}

double expected_epochs_ratio(const BatchPair& pair, const KnownNoise& noise,
                             const MeasuredProgress& progress, double power) {
  if (pair.global_batch == pair.beside) return 1.0;
  const LogNoise known = noise_to_come(noise);
  double by_noise = 0.0;
  for (std::size_t i = 0; i < kPoints.size(); ++i) {
    const double scale = std::exp(known.mean + known.deviation * kPoints[i]);
    const double ratio = (1.0 + pair.global_batch / scale) / (1.0 + pair.beside / scale);
    by_noise += kWeights[i] * std::pow(ratio, power);
  }
  return by_noise * progress.expected(power * std::log(pair.global_batch / pair.beside));
}

}  // namespace scavenger::perfmodel
