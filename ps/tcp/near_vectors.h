// Weights and gradients of a worker that a shard on the same host accesses directly. Only frame
// headers are sent between the two.
//
// The worker keeps both in an unnamed file, and names their place in its kPull frame. The shard
// maps them through /proc, which works for processes of one user.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/shared_memory.h"

namespace scavenger::ps {

// The place of the vectors. Offsets are in bytes, and multiples of the page size.
struct NearPlace {
  std::int64_t pid = 0;
  std::int32_t file = -1;
  std::uint64_t weights_offset = 0;
  std::uint64_t gradients_offset = 0;
  bool operator==(const NearPlace&) const = default;
};

inline constexpr std::size_t kNearPlaceBytes = 32;

std::array<std::byte, kNearPlaceBytes> encode(const NearPlace& place);
// Throws ProtocolError if the bytes are not a valid place.
NearPlace decode_near_place(std::span<const std::byte, kNearPlaceBytes> bytes);

// The mapping of the vectors in either process.
class NearVectors final {
 public:
  // In a worker: creates vectors of this many floats, all zero.
  explicit NearVectors(std::uint64_t flat_size);
  // In a shard: maps the vectors of a worker. Throws ConnectionError if they cannot be accessed,
  // ProtocolError if the file is not a shared file or is too short.
  NearVectors(const NearPlace& place, std::uint64_t flat_size);

  const NearPlace& place() const { return place_; }
  std::span<float> weights() const;
  std::span<float> gradients() const;

 private:
  std::uint64_t flat_size_;
  FileDescriptor file_;
  NearPlace place_;
  std::unique_ptr<SharedMapping> weights_, gradients_;
};

}  // namespace scavenger::ps
