// The factor of the loss in float16, whose small numbers end at 6e-8: gradients of the scaled loss
// do not vanish (Micikevicius et al., "Mixed Precision Training", 2018, sec. 3.2).
#pragma once

#include <cstdint>

namespace scavenger {

// A power of two, which changes as in torch.amp.GradScaler, with one difference: a pass whose
// gradients overflow is repeated with half the factor, so that no worker ever skips a step.
class LossScale final {
 public:
  double value() const { return value_; }
  // Returns false if it cannot be smaller: the gradients themselves are not finite.
  bool halve() {
    passes_ = 0;
    if (value_ <= 1.0) return false;
    value_ /= 2.0;
    return true;
  }
  // A pass did not overflow.
  void note_success() {
    if (++passes_ < kPassesToGrow) return;
    passes_ = 0;
    if (value_ < kLargest) value_ *= 2.0;
  }

  static constexpr std::uint32_t kPassesToGrow = 2000;

 private:
  static constexpr double kLargest = 16777216.0;  // 2^24
  double value_ = 65536.0;
  std::uint32_t passes_ = 0;  // without overflow since the last change
};

}  // namespace scavenger
