// Statistics of a series of any length in bounded memory: exact moments, and quantiles to a stated
// relative error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scavenger::elastic {

// A quantile sketch with logarithmic buckets, after DDSketch (Masson, Rim and Lee, "DDSketch: a
// fast and fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019): bucket i
// counts the values in (g^(i-1), g^i] with g = (1 + a) / (1 - a), and answers 2 g^i / (1 + g),
// which is within a relative error a = kRelativeError of each of them. Values below kSmallest count
// as 0, values above kLargest as kLargest. Holds at most 2764 counters; a series that stays within
// a factor of two takes 70.
class QuantileSketch final {
 public:
  static constexpr double kRelativeError = 0.005;
  static constexpr double kSmallest = 1e-7;
  static constexpr double kLargest = 1e5;

  // Requires a value that is not NaN; negative ones count as 0.
  void add(double value);
  // The value of rank floor(q (n - 1)), counted from 0 in ascending order; q in [0, 1]. 0 if
  // there are none.
  double quantile(double q) const;
  void merge(const QuantileSketch& other);
  std::uint64_t count() const { return count_; }

  // For a log: the zeros; how many neighbouring buckets make one, `width`; the index of the first
  // of those; then their counts, where -n stands for n empty ones. Nothing if there are no
  // values. With a width of 1 nothing is lost; else the error grows with it.
  std::vector<std::int64_t> encode(int width) const;
  // Requires what encode() made: see is_encoded().
  static QuantileSketch decode(const std::vector<std::int64_t>& encoded);
  static bool is_encoded(const std::vector<std::int64_t>& encoded);

  // Calls visit(value, count) for the values in ascending order, those of a bucket as one.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (zeros_ > 0) visit(0.0, zeros_);
    for (std::size_t i = 0; i < buckets_.size(); ++i)
      if (buckets_[i] > 0) visit(middle_of(first_bucket_ + static_cast<int>(i)), buckets_[i]);
  }

 private:
  static double middle_of(int bucket);
  void reach(int bucket);  // so that it is one of buckets_

  std::uint64_t count_ = 0;
  std::uint64_t zeros_ = 0;
  int first_bucket_ = 0;                // index of buckets_[0]
  std::vector<std::uint32_t> buckets_;  // from the smallest seen to the largest seen
};

// Mean and standard error of the mean: Welford, "Note on a method for calculating corrected sums of
// squares and products", Technometrics 1962. Values that are not finite are left out.
class RunningMoments final {
 public:
  void add(double value);
  void merge(const RunningMoments& other);
  static RunningMoments of(std::uint64_t count, double mean, double standard_deviation);
  std::uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  // Of the sample, with n - 1; 0 below two values.
  double standard_deviation() const;
  // standard_deviation() / sqrt(n): holds for independent values.
  double standard_error() const;

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0.0;
  double squares_ = 0.0;  // sum of squared deviations from the mean
};

// The mean without outliers: values farther than three interquartile ranges outside of the
// quartiles (Tukey's "far out", 1977), where the range counts as 2 % of the median at least. A
// pause of the machine in 20 iterations would decide their mean.
struct RobustMean {
  double mean = 0.0;
  double standard_error = 0.0;
  std::uint64_t outliers = 0;
};

// What a report says about one measured series. Values that are not finite are left out.
class SeriesStatistics final {
 public:
  void add(double value);
  void merge(const SeriesStatistics& other);
  const RunningMoments& moments() const { return moments_; }
  static SeriesStatistics of(RunningMoments moments, QuantileSketch sketch, double minimum,
                             double maximum);
  const QuantileSketch& sketch() const { return sketch_; }
  RobustMean robust_mean() const;
  double quantile(double q) const { return sketch_.quantile(q); }
  double minimum() const { return minimum_; }
  double maximum() const { return maximum_; }

 private:
  RunningMoments moments_;
  QuantileSketch sketch_;
  double minimum_ = 0.0;
  double maximum_ = 0.0;
};

// The latest stretch of a series of seconds: as many values as add up to kSeconds, kFewest at
// least. What has changed since the series began shows there, and is not lost in the whole.
class LatestSeries final {
 public:
  static constexpr double kSeconds = 10.0;
  static constexpr std::uint64_t kFewest = 20;

  void add(double seconds);
  // Many at once, which stay together.
  void add(const SeriesStatistics& seconds);
  // The last complete stretch; empty before there is one.
  const SeriesStatistics& last() const { return last_; }

 private:
  void end_stretch();

  SeriesStatistics current_;
  SeriesStatistics last_;
};

}  // namespace scavenger::elastic
