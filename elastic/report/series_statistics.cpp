#include "elastic/report/series_statistics.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

constexpr double kBase =
    (1.0 + QuantileSketch::kRelativeError) / (1.0 - QuantileSketch::kRelativeError);

int bucket_of(double value) {
  static const double inverse_log_base = 1.0 / std::log(kBase);
  return static_cast<int>(std::ceil(std::log(value) * inverse_log_base));
}

double middle_of(int bucket) {
  return 2.0 * std::pow(kBase, bucket) / (1.0 + kBase);
}

}  // namespace

void QuantileSketch::add(double value) {
  SCAVENGER_CHECK(!std::isnan(value));
  ++count_;
  if (value < kSmallest) {
    ++zeros_;
    return;
  }
  const int bucket = bucket_of(std::min(value, kLargest));
  if (buckets_.empty()) first_bucket_ = bucket;
  if (bucket < first_bucket_) {
    buckets_.insert(buckets_.begin(), static_cast<std::size_t>(first_bucket_ - bucket), 0);
    first_bucket_ = bucket;
  }
  const auto index = static_cast<std::size_t>(bucket - first_bucket_);
  if (index >= buckets_.size()) buckets_.resize(index + 1, 0);
  ++buckets_[index];
}

double QuantileSketch::quantile(double q) const {
  SCAVENGER_CHECK(q >= 0.0 && q <= 1.0);
  if (count_ == 0) return 0.0;
  const auto rank = static_cast<std::uint64_t>(q * static_cast<double>(count_ - 1));
  std::uint64_t seen = zeros_;
  if (rank < seen) return 0.0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (rank < seen) return middle_of(first_bucket_ + static_cast<int>(i));
  }
  return middle_of(first_bucket_ + static_cast<int>(buckets_.size()) - 1);
}

void RunningMoments::add(double value) {
  if (!std::isfinite(value)) return;
  ++count_;
  const double deviation = value - mean_;
  mean_ += deviation / static_cast<double>(count_);
  squares_ += deviation * (value - mean_);
}

double RunningMoments::standard_deviation() const {
  return count_ < 2 ? 0.0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

double RunningMoments::standard_error() const {
  return count_ < 2 ? 0.0 : standard_deviation() / std::sqrt(static_cast<double>(count_));
}

void SeriesStatistics::add(double value) {
  if (!std::isfinite(value)) return;
  minimum_ = moments_.count() == 0 ? value : std::min(minimum_, value);
  maximum_ = moments_.count() == 0 ? value : std::max(maximum_, value);
  moments_.add(value);
  sketch_.add(value);
}

}  // namespace scavenger::elastic
