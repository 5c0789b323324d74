// The format of gradients and weights in frames: floats, or, with half the bytes, rounded to
// bfloat16 (sync.wire_precision). Initial weights and state are always floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ps/core/kernels.h"
#include "runtime/config/job_config.h"

namespace scavenger::ps {

class WireFormat final {
 public:
  WireFormat() = default;  // floats
  explicit WireFormat(WirePrecision precision) : rounds_(precision == WirePrecision::kBfloat16) {}

  bool rounds() const { return rounds_; }
  std::size_t bytes_per_float() const { return rounds_ ? sizeof(Bfloat16) : sizeof(float); }

 private:
  bool rounds_ = false;
};

// Rounds `floats` into `room`, which has the same length, and returns its bytes.
inline std::span<const std::byte> round_for_wire(std::span<const float> floats,
                                                 std::span<Bfloat16> room) {
  best_kernels().to_bfloat16(floats.data(), room.data(), floats.size());
  return std::as_bytes(room);
}

inline void widen_from_wire(std::span<const Bfloat16> from, std::span<float> floats) {
  best_kernels().from_bfloat16(from.data(), floats.data(), floats.size());
}

}  // namespace scavenger::ps
