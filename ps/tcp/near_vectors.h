// Weights and gradients of a worker that a shard on the same host reads and writes where they lie:
// only the heads of frames are sent between them.
//
// The worker keeps both in a file without a name, and says with its pull where; the shard maps them
// through /proc, which works for processes of one user.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/shared_memory.h"

namespace scavenger::ps {

// Where they are. Offsets in bytes, whole pages.
struct NearPlace {
  std::int64_t pid = 0;
  std::int32_t file = -1;
  std::uint64_t weights_offset = 0;
  std::uint64_t gradients_offset = 0;
  bool operator==(const NearPlace&) const = default;
};

inline constexpr std::size_t kNearPlaceBytes = 32;

std::array<std::byte, kNearPlaceBytes> encode(const NearPlace& place);
// Throws ProtocolError on what no worker says.
NearPlace decode_near_place(std::span<const std::byte, kNearPlaceBytes> bytes);

// Mapped by either side.
class NearVectors final {
 public:
  // A worker's: new ones, of this many floats, zero.
  explicit NearVectors(std::uint64_t flat_size);
  // A shard's: another process's. Throws ConnectionError where they cannot be reached,
  // ProtocolError where the file is none of ours or too short.
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
