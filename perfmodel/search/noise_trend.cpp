#include "perfmodel/search/noise_trend.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {

double log_deviation(const MeasuredNoise& noise) {
  constexpr double kReach = 2.0 * 1.96;  // from low to high, in standard deviations
  constexpr double kSmallestShare = 0.01;
  const double low = std::max(noise.low, kSmallestShare * noise.scale);
  const double high = std::isfinite(noise.high) ? noise.high : noise.scale / kSmallestShare;
  return std::min(kUnknownNoiseDeviation, std::max(0.0, std::log(high / low)) / kReach);
}

void NoiseTrend::add(double samples, const MeasuredNoise& noise) {
  constexpr double kStep = 1.05;
  if (!(samples > 0.0) || !(noise.scale > 0.0)) return;
  SCAVENGER_CHECK(!now_ || samples >= now_->samples);
  now_ = {samples, std::log(noise.scale), log_deviation(noise)};
  if (past_.empty() || samples >= kStep * past_.back().samples) past_.push_back(*now_);
}

void NoiseTrend::restart() {
  past_.clear();
  now_.reset();
}

std::optional<NoiseGrowth> NoiseTrend::latest() const {
  if (!now_) return std::nullopt;
  const auto after = std::ranges::upper_bound(past_, 0.5 * now_->samples, {}, &Point::samples);
  if (after == past_.begin()) return std::nullopt;
  const Point& before = *std::prev(after);
  const double doublings = std::log2(now_->samples / before.samples);
  return NoiseGrowth{(now_->log_scale - before.log_scale) / doublings,
                     std::hypot(now_->deviation, before.deviation) / doublings};
}

}  // namespace scavenger::perfmodel
