// Random kicks of a thermostat: a function of (seed, step, particle, axis), with no state to save.
#pragma once

#include <cstdint>

namespace scavenger::md {

// The last step of SplitMix64: a bijection whose output looks random.
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The kicks of one step.
class ThermalNoise final {
 public:
  ThermalNoise(std::uint64_t seed, std::int64_t step)
      : base_(mixed(mixed(seed + kGolden) + static_cast<std::uint64_t>(step) * kGolden)) {}

  // Returns a number of mean 0 and variance 1: the sum of four uniform ones. It is bounded by 3.5.
  // Velocities add up many of them, so that theirs is a normal distribution.
  double kick(std::uint64_t number) const {
    const std::uint64_t bits = mixed(base_ + (number + 1) * kGolden);
    const std::uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (static_cast<double>(sum) - kMean) * kScale;
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
  static constexpr double kMean = 2.0 * 65535.0;
  static constexpr double kScale = 2.6428997921303018e-05;  // sqrt(3 / (65536^2 - 1))

  std::uint64_t base_;
};

}  // namespace scavenger::md
