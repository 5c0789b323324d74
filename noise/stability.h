// Says when a noise measure has settled, so that it may be used to compare configurations.
#pragma once

#include <cstdint>

namespace scavenger::noise {

struct StabilityOptions {
  // Iterations in each of the two windows that are compared. With these two values the six series
  // of the paper's figure 6 count as stable after 1,000 to 3,000 steps, five of them after 2,000 or
  // more (docs/design/noise.md); the paper says "2K" for ResNet18 and "3K" for ResNet50, without a
  // rule. Jobs of a few thousand iterations want a shorter window.
  std::uint32_t window_iterations = 500;
  double tolerance = 0.05;  // largest |new - old| / mean of both
};

// Stable once the ratio of sums over the last complete window differs from that over the window
// before it by at most the tolerance; and from then on until reset(). Ratios of sums, since a mean
// of ratios is biased. O(1) per iteration.
class StabilityDetector final {
 public:
  explicit StabilityDetector(StabilityOptions options);

  // `iterations`: for how many it stands, if not every one is measured.
  void add(double numerator, double denominator, std::uint32_t iterations = 1);
  void reset();

  // What it goes by, to be kept and taken up again.
  struct State {
    double numerator = 0.0;  // sums over the window that is being filled
    double denominator = 0.0;
    double previous_ratio = 0.0;
    bool has_previous = false;
    bool stable = false;
    std::uint64_t iterations = 0;
    std::uint64_t in_window = 0;
  };
  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

  bool stable() const { return state_.stable; }
  // Iterations seen since the reset.
  std::uint64_t iterations() const { return state_.iterations; }

 private:
  void finish_window();

  StabilityOptions options_;
  State state_;
};

}  // namespace scavenger::noise
