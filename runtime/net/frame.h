// The frame format of all connections of a job: a fixed header, then `payload_bytes` bytes.
//
// Every frame names the membership epoch and the iteration that it belongs to, so that a receiver
// can recognise a stale frame and ignore it. docs/design/protocol.md specifies the bytes, and which
// process may send which frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace scavenger {

inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 48;

enum class FrameType : std::uint16_t {
  kControl = 1,   // payload: a control message (runtime/protocol)
  kGradient = 2,  // worker -> shard: one chunk of gradients, floats
  kWeights = 3,   // shard -> worker: one chunk of weights after the iteration, floats
  kPull = 4,      // worker -> shard: requests the weights as they are; no payload
  kInitial = 5,   // worker -> shard: one chunk of initial weights, floats
  kState = 6,     // shard <-> controller: one piece of weights or optimizer state, floats
  kNorms = 7,     // shard -> worker of rank 0: |g|^2 of each chunk of the shard, doubles
  kClip = 8,  // worker of rank 0 -> shard: do the step, given the norm of all gradients; no payload
};

struct FrameHeader {
  FrameType type = FrameType::kControl;
  std::uint32_t membership_epoch = 0;
  std::uint32_t chunk = 0;  // index of the chunk in the flat vector
  std::uint64_t iteration = 0;
  std::uint32_t rank =
      0;  // rank of the worker that sends or receives the frame; kState: index of the vector
  std::uint32_t payload_bytes = 0;
  double local_sqr_norm = 0.0;  // kWeights: |g_k|^2 over this chunk, g_k the receiver's gradient
  // |g|^2, g the weighted mean gradient; kWeights: over this chunk; kClip: over all chunks
  double global_sqr_norm = 0.0;

  bool operator==(const FrameHeader&) const = default;
};

std::array<std::byte, kFrameHeaderBytes> encode(const FrameHeader& header);

// Throws ProtocolError if the magic number is wrong, the version differs, the type is unknown, or
// the payload has more than `payload_limit_bytes`; nothing has been allocated for the payload then.
FrameHeader decode_frame_header(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                std::uint32_t payload_limit_bytes);

}  // namespace scavenger
