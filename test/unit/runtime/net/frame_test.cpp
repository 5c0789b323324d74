#include "runtime/net/frame.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/base/random.h"

using namespace scavenger;

namespace {

using HeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

FrameHeader sample_header() {
  return {FrameType::kWeights, 3, 7, 0x0102030405060708, 2, 4096, 1.5, -0.25};
}

HeaderBytes changed(std::size_t place, std::uint8_t value) {
  HeaderBytes bytes = encode(sample_header());
  bytes[place] = std::byte{value};
  return bytes;
}

}  // namespace

TEST_CASE("the bytes of a frame header are those of docs/design/protocol.md") {
  const std::uint8_t expected[kFrameHeaderBytes] = {
      'S',  'C',  'V',  '1',                           // magic
      1,    0,                                         // version
      3,    0,                                         // type: weights
      3,    0,    0,    0,                             // membership epoch
      7,    0,    0,    0,                             // chunk
      0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,  // iteration
      2,    0,    0,    0,                             // rank
      0,    0x10, 0,    0,                             // payload bytes
      0,    0,    0,    0,    0,    0,    0xf8, 0x3f,  // local squared norm, 1.5
      0,    0,    0,    0,    0,    0,    0xd0, 0xbf,  // global squared norm, -0.25
  };

  const HeaderBytes bytes = encode(sample_header());

  CHECK(std::memcmp(bytes.data(), expected, sizeof expected) == 0);
}

TEST_CASE("a frame header comes out as it went in") {
  RandomStream random(1, "headers");
  for (int trial = 0; trial < 1000; ++trial) {
    const FrameHeader header{static_cast<FrameType>(1 + random.below(6)),
                             static_cast<std::uint32_t>(random.bits()),
                             static_cast<std::uint32_t>(random.bits()),
                             random.bits(),
                             static_cast<std::uint32_t>(random.bits()),
                             static_cast<std::uint32_t>(random.bits()),
                             random.normal(),
                             HUGE_VAL};

    CHECK(decode_frame_header(encode(header), UINT32_MAX) == header);
  }
}

TEST_CASE("what is no frame of ours is refused") {
  CHECK_THROWS_AS(decode_frame_header(changed(0, 'X'), 4096), ProtocolError);  // magic
  CHECK_THROWS_WITH(decode_frame_header(changed(4, 2), 4096), Catch::Contains("version 2"));
  CHECK_THROWS_WITH(decode_frame_header(changed(6, 0), 4096), Catch::Contains("frame type 0"));
  CHECK_THROWS_WITH(decode_frame_header(changed(6, 9), 4096), Catch::Contains("frame type 9"));
}

TEST_CASE("a payload above the limit is refused by its announcement") {
  CHECK_NOTHROW(decode_frame_header(encode(sample_header()), 4096));
  CHECK_THROWS_WITH(decode_frame_header(encode(sample_header()), 4095),
                    Catch::Contains("4096 bytes"));
}

TEST_CASE("any 48 bytes are a good header or refused as a bad one") {
  RandomStream random(2, "noise");
  int good = 0;
  for (int trial = 0; trial < 100000; ++trial) {
    HeaderBytes bytes = encode(sample_header());
    if (trial % 2 == 0) {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
    } else {
      for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes)
        bytes[random.below(bytes.size())] = static_cast<std::byte>(random.bits());
    }
    try {
      const FrameHeader header = decode_frame_header(bytes, 8192);
      ++good;
      REQUIRE(header.payload_bytes <= 8192);
      REQUIRE(encode(header) == bytes);
    } catch (const ProtocolError&) {
    }
  }

  CHECK(good > 10000);
  CHECK(good < 50000);
}
