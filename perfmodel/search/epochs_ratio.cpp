#include "perfmodel/search/epochs_ratio.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

// ln of the noise in the next stretch of the job, as long as it has been so far, beside the noise
// as its averages tell it now. Mean and deviation of what jobs of six models logged
// (docs/results/search.md).
constexpr double kGrowth = 0.75;
constexpr double kGrowthDeviation = 0.65;
// The same where earlier jobs tell of noise that grew: from the first part of a job to the whole.
constexpr double kWholeGrowthDeviation = 1.2;
constexpr double kUnknownDeviation = 1.5;   // of ln B_s before it was measured
constexpr double kBetweenDeviation = 0.35;  // of ln B_s between jobs of one model, at other batches
constexpr double kDeviations95 = 1.96;

// Gauss and Hermite's points and weights for a standard normal distribution.
constexpr std::array<double, 7> kPoints = {-3.750439718, -2.366759411, -1.154405395, 0.0,
                                           1.154405395,  2.366759411,  3.750439718};
constexpr std::array<double, 7> kWeights = {0.000548269, 0.030757124, 0.240123179, 0.457142857,
                                            0.240123179, 0.030757124, 0.000548269};

struct LogNoise {
  double mean = 0.0;
  double deviation = 0.0;
};

// Of ln B_s, as far as it was measured.
double deviation_of(const MeasuredNoise& noise) {
  constexpr double kReach = 2.0 * kDeviations95;  // from low to high, in standard deviations
  constexpr double kSmallestShare = 0.01;
  const double low = std::max(noise.low, kSmallestShare * noise.scale);
  const double high = std::isfinite(noise.high) ? noise.high : noise.scale / kSmallestShare;
  return std::min(kUnknownDeviation, std::max(0.0, std::log(high / low)) / kReach);
}

LogNoise noise_to_come(const KnownNoise& noise) {
  const auto& earlier = noise.of_earlier_jobs;
  LogNoise own{std::log(noise.usual), kUnknownDeviation};
  if (noise.so_far && noise.so_far->scale > 0.0)
    own = {std::log(noise.so_far->scale) + kGrowth,
           std::hypot(deviation_of(*noise.so_far),
                      earlier ? kWholeGrowthDeviation : kGrowthDeviation)};
  if (!earlier) return own;
  const double of_own = std::pow(own.deviation, -2.0);
  const double of_earlier = std::pow(deviation_of(*earlier), -2.0);
  return {(of_own * own.mean + of_earlier * std::log(earlier->scale)) / (of_own + of_earlier),
          std::pow(of_own + of_earlier, -0.5)};
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
