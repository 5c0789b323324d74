#include "elastic/events/series_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

constexpr double kBase =
    (1.0 + QuantileSketch::kRelativeError) / (1.0 - QuantileSketch::kRelativeError);

int bucket_of(double value) {
  static const double inverse_log_base = 1.0 / std::log(kBase);
  return static_cast<int>(std::ceil(std::log(value) * inverse_log_base));
}

// Beyond all buckets that values have.
constexpr std::int64_t kFarthest = 10000;
constexpr std::int64_t kWidest = 1000;
constexpr std::int64_t kMostInBucket = 0xffffffff;

// Rounded down.
std::int64_t wide_bucket(std::int64_t bucket, std::int64_t width) {
  return bucket >= 0 ? bucket / width : -((-bucket + width - 1) / width);
}

// Of the outlier's fence.
constexpr double kFarOut = 3.0;
constexpr double kLeastRange = 0.02;  // of the median

}  // namespace

double QuantileSketch::middle_of(int bucket) {
  return 2.0 * std::pow(kBase, bucket) / (1.0 + kBase);
}

void QuantileSketch::reach(int bucket) {
  if (buckets_.empty()) first_bucket_ = bucket;
  if (bucket < first_bucket_) {
    buckets_.insert(buckets_.begin(), static_cast<std::size_t>(first_bucket_ - bucket), 0);
    first_bucket_ = bucket;
  }
  const auto index = static_cast<std::size_t>(bucket - first_bucket_);
  if (index >= buckets_.size()) buckets_.resize(index + 1, 0);
}

void QuantileSketch::add(double value) {
  SCAVENGER_CHECK(!std::isnan(value));
  ++count_;
  if (value < kSmallest) {
    ++zeros_;
    return;
  }
  const int bucket = bucket_of(std::min(value, kLargest));
  reach(bucket);
  ++buckets_[static_cast<std::size_t>(bucket - first_bucket_)];
}

void QuantileSketch::merge(const QuantileSketch& other) {
  count_ += other.count_;
  zeros_ += other.zeros_;
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) {
    if (other.buckets_[i] == 0) continue;
    const int bucket = other.first_bucket_ + static_cast<int>(i);
    reach(bucket);
    buckets_[static_cast<std::size_t>(bucket - first_bucket_)] += other.buckets_[i];
  }
}

std::vector<std::int64_t> QuantileSketch::encode(int width) const {
  if (count_ == 0) return {};
  std::vector<std::int64_t> wide = {static_cast<std::int64_t>(zeros_), width};
  std::optional<std::int64_t> last;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] == 0) continue;
    const std::int64_t index = wide_bucket(first_bucket_ + static_cast<int>(i), width);
    if (!last) wide.push_back(index);
    if (last && index > *last + 1) wide.push_back(-(index - *last - 1));
    if (last == index)
      wide.back() += buckets_[i];
    else
      wide.push_back(buckets_[i]);
    last = index;
  }
  return wide;
}

QuantileSketch QuantileSketch::decode(const std::vector<std::int64_t>& encoded) {
  SCAVENGER_CHECK(is_encoded(encoded));
  QuantileSketch sketch;
  if (encoded.empty()) return sketch;
  sketch.zeros_ = sketch.count_ = static_cast<std::uint64_t>(encoded[0]);
  const std::int64_t width = encoded[1];
  std::int64_t index = encoded.size() > 2 ? encoded[2] : 0;
  for (std::size_t i = 3; i < encoded.size(); ++i) {
    if (encoded[i] <= 0) {
      index -= encoded[i];
      continue;
    }
    const auto bucket = static_cast<int>(index * width + width / 2);
    sketch.reach(bucket);
    sketch.buckets_[static_cast<std::size_t>(bucket - sketch.first_bucket_)] +=
        static_cast<std::uint32_t>(encoded[i]);
    sketch.count_ += static_cast<std::uint64_t>(encoded[i]);
    ++index;
  }
  return sketch;
}

// A log may hold anything: what would take endless memory is none.
bool QuantileSketch::is_encoded(const std::vector<std::int64_t>& encoded) {
  if (encoded.empty()) return true;
  if (encoded.size() == 2) return encoded[0] >= 0 && encoded[1] >= 1;
  if (encoded.size() < 4 || encoded[0] < 0 || encoded[1] < 1 || encoded[1] > kWidest) return false;
  std::int64_t index = encoded[2];
  if (index < -kFarthest || index > kFarthest) return false;
  for (std::size_t i = 3; i < encoded.size(); ++i) {
    if (encoded[i] < -kFarthest || encoded[i] > kMostInBucket) return false;
    index += encoded[i] > 0 ? 1 : -encoded[i];
    if (std::abs(index * encoded[1]) > kFarthest) return false;
  }
  return std::abs(encoded[2] * encoded[1]) <= kFarthest;
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

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm", 1979.
void RunningMoments::merge(const RunningMoments& other) {
  if (other.count_ == 0) return;
  const auto mine = static_cast<double>(count_);
  const auto theirs = static_cast<double>(other.count_);
  const double difference = other.mean_ - mean_;
  count_ += other.count_;
  mean_ += difference * theirs / (mine + theirs);
  squares_ += other.squares_ + difference * difference * mine * theirs / (mine + theirs);
}

RunningMoments RunningMoments::of(std::uint64_t count, double mean, double standard_deviation) {
  RunningMoments moments;
  moments.count_ = count;
  moments.mean_ = mean;
  if (count > 1)
    moments.squares_ = standard_deviation * standard_deviation * static_cast<double>(count - 1);
  return moments;
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

void SeriesStatistics::merge(const SeriesStatistics& other) {
  if (other.moments_.count() == 0) return;
  const bool is_first = moments_.count() == 0;
  minimum_ = is_first ? other.minimum_ : std::min(minimum_, other.minimum_);
  maximum_ = is_first ? other.maximum_ : std::max(maximum_, other.maximum_);
  moments_.merge(other.moments_);
  sketch_.merge(other.sketch_);
}

SeriesStatistics SeriesStatistics::of(RunningMoments moments, QuantileSketch sketch, double minimum,
                                      double maximum) {
  SeriesStatistics statistics;
  statistics.moments_ = moments;
  statistics.sketch_ = std::move(sketch);
  statistics.minimum_ = minimum;
  statistics.maximum_ = maximum;
  return statistics;
}

RobustMean SeriesStatistics::robust_mean() const {
  if (moments_.count() == 0) return {};
  const double low_quartile = quantile(0.25), high_quartile = quantile(0.75);
  const double range = std::max(high_quartile - low_quartile, kLeastRange * quantile(0.5));
  const double low = low_quartile - kFarOut * range, high = high_quartile + kFarOut * range;
  double count = 0.0, sum = 0.0, outliers = 0.0, outlier_sum = 0.0, squares = 0.0;
  sketch_.for_each([&](double value, std::uint64_t times) {
    const auto weight = static_cast<double>(times);
    const bool is_kept = value >= low && value <= high;
    (is_kept ? count : outliers) += weight;
    (is_kept ? sum : outlier_sum) += weight * value;
  });
  if (outliers == 0.0)
    return {.mean = moments_.mean(), .standard_error = moments_.standard_error(), .outliers = 0};
  // The sketch knows values to half a percent: better the exact sum less the outliers, unless these
  // make up most of it.
  if (outlier_sum < sum)
    sum = moments_.mean() * static_cast<double>(moments_.count()) - outlier_sum;
  const double mean = sum / count;
  sketch_.for_each([&](double value, std::uint64_t times) {
    if (value >= low && value <= high)
      squares += static_cast<double>(times) * (value - mean) * (value - mean);
  });
  return {.mean = mean,
          .standard_error = count < 2.0 ? 0.0 : std::sqrt(squares / (count - 1.0) / count),
          .outliers = static_cast<std::uint64_t>(outliers)};
}

void LatestSeries::add(double seconds) {
  current_.add(seconds);
  end_stretch();
}

void LatestSeries::add(const SeriesStatistics& seconds) {
  current_.merge(seconds);
  end_stretch();
}

void LatestSeries::end_stretch() {
  const RunningMoments& moments = current_.moments();
  if (moments.count() < kFewest || moments.mean() * static_cast<double>(moments.count()) < kSeconds)
    return;
  last_ = std::move(current_);
  current_ = {};
}

}  // namespace scavenger::elastic
