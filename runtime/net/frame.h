// The one frame that all connections of a job carry: a fixed header, then `payload_bytes` bytes.
//
// Every frame names the epoch of membership and the iteration that it belongs to (design, invariant
// 4), so that a receiver can tell a stale one and ignore it. docs/protocol.md has the bytes and who
// may send what.
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
  kPull = 4,      // worker -> shard: send me your weights as they are; no payload
  kInitial = 5,   // worker -> shard: one chunk of initial weights, floats
  kState = 6,     // shard <-> controller: one piece of weights or optimizer state, floats
  kNorms = 7,     // shard -> worker of rank 0: |g|^2 of each of its chunks, doubles
  kClip = 8,      // worker of rank 0 -> shard: step, with gradients of this norm; no payload
};

struct FrameHeader {
  FrameType type = FrameType::kControl;
  std::uint32_t membership_epoch = 0;
  std::uint32_t chunk = 0;  // of the flat vector
  std::uint64_t iteration = 0;
  std::uint32_t rank =
      0;  // of the worker that sent it or that it is for; kState: the index of the vector
  std::uint32_t payload_bytes = 0;
  double local_sqr_norm = 0.0;   // kWeights: |g_k|^2 over this chunk, of the receiving worker
  double global_sqr_norm = 0.0;  // kWeights: |g|^2 over this chunk, of the weighted mean;
                                 // kClip: over all chunks

  bool operator==(const FrameHeader&) const = default;
};

std::array<std::byte, kFrameHeaderBytes> encode(const FrameHeader& header);

// Throws ProtocolError on a wrong magic number, another version, an unknown type, or more than
// `payload_limit_bytes` of payload, before anything is allocated for it.
FrameHeader decode_frame_header(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                std::uint32_t payload_limit_bytes);

}  // namespace scavenger
