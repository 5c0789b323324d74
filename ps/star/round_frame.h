// Which frame of a group's rounds is due.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/net/frame.h"

namespace scavenger::ps {

// The largest part of a round; who has more makes several rounds of it.
inline constexpr std::size_t kRoundFloats = std::size_t{1} << 21;
inline constexpr std::uint32_t kRoundBytes = kRoundFloats * sizeof(float);

// Returns whether this frame is that of the round: of its group, and with whole floats, perhaps
// none. Its size is limited by who decodes it, to kRoundBytes.
inline bool is_of_round(const FrameHeader& header, FrameType type, std::uint32_t membership_epoch,
                        std::uint64_t round) {
  return header.type == type && header.membership_epoch == membership_epoch &&
         header.iteration == round && header.payload_bytes % sizeof(float) == 0;
}

}  // namespace scavenger::ps
