// The gradient noise scale as a search knows it: how large it is, and by how much it grows.
#pragma once

#include <optional>
#include <vector>

namespace scavenger::perfmodel {

// The gradient noise scale.
struct MeasuredNoise {
  double scale = 0.0;  // B_s
  double low = 0.0;    // 95 % interval
  double high = 0.0;
};

// Of ln B_s, before it was measured.
inline constexpr double kUnknownNoiseDeviation = 1.5;

// Standard deviation of ln B_s by the interval; never more than that.
double log_deviation(const MeasuredNoise& noise);

// Of ln B_s, in a stretch in which a job's samples double.
struct NoiseGrowth {
  double growth = 0.0;
  double deviation = 0.0;  // standard error
};

// What a job measured along its way, from which follows by how much its noise grew since it was
// half as old. Bounded: a few hundred numbers however long the job is. One thread.
class NoiseTrend final {
 public:
  // As it is known after so many samples, which never become fewer.
  void add(double samples, const MeasuredNoise& noise);
  // What was added says nothing of what comes: the learning rate made a step.
  void restart();
  // Nothing before the job is twice as old as where it was first measured.
  std::optional<NoiseGrowth> latest() const;

 private:
  struct Point {
    double samples = 0.0;
    double log_scale = 0.0;
    double deviation = 0.0;
  };
  std::vector<Point> past_;  // spread evenly over the logarithm of samples
  std::optional<Point> now_;
};

}  // namespace scavenger::perfmodel
