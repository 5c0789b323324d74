// A curve over the iterations of a job, in bounded memory, that loses no peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scavenger::elastic {

// One or more neighbouring values of a curve. Their extremes are kept however many there are.
struct CurvePoint {
  std::uint64_t first_iteration = 0;  // iterations complete at the first value
  std::uint64_t last_iteration = 0;   // and at the last
  double epoch = 0.0;                 // at the last value
  double time = 0.0;                  // seconds of the job's life, at the last value
  std::uint64_t count = 0;            // values, without those that are not finite
  double mean = 0.0;
  double minimum = 0.0;
  double maximum = 0.0;

  bool operator==(const CurvePoint&) const = default;
};

// Keeps each value as a point of its own until there are kMaxPoints; then neighbours are merged in
// pairs, and each point takes twice as many values from then on.
class DownsampledCurve final {
 public:
  static constexpr std::size_t kMaxPoints = 1024;

  // Iterations must not go back.
  void add(std::uint64_t iteration, double epoch, double time, double value);
  // The values of neighbouring iterations as one point, which stay together.
  void add(const CurvePoint& point);
  // The job is resumed from `iteration`: what came after it is done again. A point that reaches
  // across it stays, for its values cannot be told apart.
  void forget_after(std::uint64_t iteration);
  const std::vector<CurvePoint>& points() const { return points_; }

 private:
  void halve();

  std::vector<CurvePoint> points_;
  std::vector<std::uint64_t> values_;  // of each point, those included that are not finite
  std::uint64_t values_per_point_ = 1;
};

}  // namespace scavenger::elastic
