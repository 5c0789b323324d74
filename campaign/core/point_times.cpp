#include "campaign/core/point_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "perfmodel/fit/matrix.h"
#include "runtime/base/check.h"

namespace scavenger::campaign {
namespace {

// Of a slope, relative to what the points tell: keeps one finite that they do not tell.
constexpr double kRidge = 1e-6;
constexpr double kLeastSeconds = 1e-6;

using Row = std::vector<double>;

// What a time may depend on: 1, and each parameter, or its logarithm, from -1 to 1 in the space.
class Features final {
 public:
  explicit Features(const Space& space) {
    const std::size_t count = space.names().size();
    low_.assign(count, HUGE_VAL);
    high_.assign(count, -HUGE_VAL);
    for (PointIndex point = 0; point < space.size(); ++point) {
      const Row values = space.values_at(point);
      for (std::size_t i = 0; i < count; ++i) {
        low_[i] = std::min(low_[i], values[i]);
        high_[i] = std::max(high_[i], values[i]);
      }
    }
  }
  Row operator()(const Row& values) const {
    Row row{1.0};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool has_sign = low_[i] > 0.0 || high_[i] < 0.0;
      const double low = has_sign ? std::log(std::abs(low_[i])) : low_[i];
      const double high = has_sign ? std::log(std::abs(high_[i])) : high_[i];
      const bool is_inside = !has_sign || values[i] * low_[i] > 0.0;
      const double value = has_sign && is_inside ? std::log(std::abs(values[i])) : values[i];
      row.push_back(high == low || !is_inside ? 0.0 : 2.0 * (value - low) / (high - low) - 1.0);
    }
    return row;
  }

 private:
  Row low_, high_;
};

// The coefficients of the features of log(seconds).
Row fit(const Features& features, const std::vector<TimedPoint>& timed) {
  const std::size_t terms = features(timed.front().values).size();
  if (timed.size() < 2 * terms) return {};
  perfmodel::Matrix gram(terms, terms);
  Row right(terms);
  for (const TimedPoint& point : timed) {
    const Row row = features(point.values);
    const double log_seconds = std::log(std::max(point.seconds, kLeastSeconds));
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) gram(i, j) += row[i] * row[j];
      right[i] += row[i] * log_seconds;
    }
  }
  for (std::size_t i = 1; i < terms; ++i) gram(i, i) += kRidge * static_cast<double>(timed.size());
  const auto cholesky = perfmodel::Cholesky::of(gram);
  SCAVENGER_CHECK(cholesky);
  return cholesky->solve(right);
}

}  // namespace

PointTimes::PointTimes(const Space& space, const std::vector<TimedPoint>& timed) {
  SCAVENGER_CHECK(!timed.empty());
  const auto count = static_cast<double>(timed.size());
  double mean = 0.0;
  for (const TimedPoint& point : timed) mean += point.seconds / count;
  const Features features(space);
  const Row coefficients = fit(features, timed);
  const auto expected = [&](const Row& values) {
    return coefficients.empty() ? mean : std::exp(perfmodel::dot(coefficients, features(values)));
  };
  for (PointIndex point = 0; point < space.size(); ++point)
    seconds_.push_back(expected(space.values_at(point)));
  double squares = 0.0;
  for (const TimedPoint& point : timed) {
    const double ratio = expected(point.values) / std::max(point.seconds, kLeastSeconds) - 1.0;
    squares += ratio * ratio / count;
  }
  relative_error_ = std::sqrt(squares);
}

double PointTimes::sum_seconds() const {
  return std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
}

}  // namespace scavenger::campaign
