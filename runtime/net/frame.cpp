#include "runtime/net/frame.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

static_assert(std::endian::native == std::endian::little,
              "frames are little-endian, and copied as they are");

constexpr std::uint32_t kMagic = 0x31564353;  // "SCV1"

// The bytes on the wire, in order, without gaps.
struct WireHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t type;
  std::uint32_t membership_epoch;
  std::uint32_t chunk;
  std::uint64_t iteration;
  std::uint32_t rank;
  std::uint32_t payload_bytes;
  double local_sqr_norm;
  double global_sqr_norm;
};
static_assert(sizeof(WireHeader) == kFrameHeaderBytes);

[[noreturn]] void refuse_frame(std::string what) {
  throw ProtocolError({.what = std::move(what), .where = "frame header", .remedy = {}});
}

}  // namespace

std::array<std::byte, kFrameHeaderBytes> encode(const FrameHeader& header) {
  const WireHeader wire{kMagic,
                        kProtocolVersion,
                        static_cast<std::uint16_t>(header.type),
                        header.membership_epoch,
                        header.chunk,
                        header.iteration,
                        header.rank,
                        header.payload_bytes,
                        header.local_sqr_norm,
                        header.global_sqr_norm};
  return std::bit_cast<std::array<std::byte, kFrameHeaderBytes>>(wire);
}

FrameHeader decode_frame_header(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                std::uint32_t payload_limit_bytes) {
  WireHeader wire{};
  std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.magic != kMagic) refuse_frame("this is not a Scavenger frame");
  if (wire.version != kProtocolVersion)
    refuse_frame(fmt::format("the peer speaks protocol version {}, this build speaks {}",
                             wire.version, kProtocolVersion));
  if (wire.type < static_cast<std::uint16_t>(FrameType::kControl) ||
      wire.type > static_cast<std::uint16_t>(FrameType::kClip))
    refuse_frame(fmt::format("unknown frame type {}", wire.type));
  if (wire.payload_bytes > payload_limit_bytes)
    refuse_frame(fmt::format("a payload of {} bytes is announced, at most {} are allowed",
                             wire.payload_bytes, payload_limit_bytes));
  return {static_cast<FrameType>(wire.type),
          wire.membership_epoch,
          wire.chunk,
          wire.iteration,
          wire.rank,
          wire.payload_bytes,
          wire.local_sqr_norm,
          wire.global_sqr_norm};
}

}  // namespace scavenger
