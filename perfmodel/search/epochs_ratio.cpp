#include "perfmodel/search/epochs_ratio.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

// ln of the noise to come beside the noise so far.
constexpr double kGrowth = 0.2;
constexpr double kGrowthDeviation = 0.4;
constexpr double kUnknownDeviation = 1.5;  // of ln B_s before it was measured

// Gauss and Hermite's points and weights for a standard normal distribution.
constexpr std::array<double, 7> kPoints = {-3.750439718, -2.366759411, -1.154405395, 0.0,
                                           1.154405395,  2.366759411,  3.750439718};
constexpr std::array<double, 7> kWeights = {0.000548269, 0.030757124, 0.240123179, 0.457142857,
                                            0.240123179, 0.030757124, 0.000548269};

struct LogNoise {
  double mean = 0.0;
  double deviation = 0.0;
};

LogNoise noise_to_come(const std::optional<MeasuredNoise>& noise, double usual) {
  if (!noise || !(noise->scale > 0.0)) return {std::log(usual), kUnknownDeviation};
  constexpr double kReach = 2.0 * 1.96;  // from low to high, in standard deviations
  constexpr double kSmallestShare = 0.01;
  const double low = std::max(noise->low, kSmallestShare * noise->scale);
  const double high = std::isfinite(noise->high) ? noise->high : noise->scale / kSmallestShare;
  const double measured = std::min(kUnknownDeviation, std::max(0.0, std::log(high / low)) / kReach);
  return {std::log(noise->scale) + kGrowth, std::hypot(measured, kGrowthDeviation)};
}

}  // namespace

double expected_epochs_ratio(const BatchPair& pair, const std::optional<MeasuredNoise>& noise,
                             double usual, const MeasuredProgress& progress, double power) {
  if (pair.global_batch == pair.beside) return 1.0;
  const LogNoise known = noise_to_come(noise, usual);
  double by_noise = 0.0;
  for (std::size_t i = 0; i < kPoints.size(); ++i) {
    const double scale = std::exp(known.mean + known.deviation * kPoints[i]);
    const double ratio = (1.0 + pair.global_batch / scale) / (1.0 + pair.beside / scale);
    by_noise += kWeights[i] * std::pow(ratio, power);
  }
  return by_noise * progress.expected(power * std::log(pair.global_batch / pair.beside));
}

}  // namespace scavenger::perfmodel
