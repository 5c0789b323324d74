// How far each worker's time has been from the others': the sum and the trend of it, for a
// controller that goes by more than the present. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

namespace scavenger::elastic {

// What counts beside the present error; 0: not at all. docs/results/dynamic_batching.md has the
// measurements.
struct PaceGains {
  double integral = 0.0;
  double derivative = 0.0;

  bool are_off() const { return integral == 0.0 && derivative == 0.0; }
};

// A worker's error is the logarithm of its time over the workers' (geometric) mean: so errors of
// all sum to 0, and twice and half as long are equally far.
class PaceErrors final {
 public:
  // A membership begins. Who stays keeps its sum; trends begin anew, for shares have changed.
  void begin(std::span<const std::uint32_t> workers);
  // It is another machine now.
  void forget(std::uint32_t worker) { sums_.erase(worker); }
  // Of one iteration: seconds by rank, all positive.
  void add(const std::vector<double>& seconds);

  // Sum of the errors, in windows (PaceWindow::kRecent iterations), no further from 0 than
  // kLargestIntegral: so what a long imbalance leaves behind wears off.
  double integral(std::uint32_t worker) const;
  // By how much the error grew from the older half of the window to the newer one.
  double derivative(std::uint32_t worker) const;
  // What is to be added to the logarithm of a worker's time.
  double correction(std::uint32_t worker, const PaceGains& gains) const {
    return gains.integral * integral(worker) + gains.derivative * derivative(worker);
  }

  static constexpr double kLargestIntegral = 0.7;  // twice as long, for a window

 private:
  std::vector<std::uint32_t> workers_;      // by rank
  std::map<std::uint32_t, double> sums_;    // by worker
  std::deque<std::vector<double>> latest_;  // errors by rank
};

}  // namespace scavenger::elastic
