#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "runtime/protocol/control_message.h"
#include "test/protocol/sample_messages.h"

using namespace scavenger;

namespace {

void mutate(std::vector<std::byte>& bytes, RandomStream& random) {
  const std::uint64_t kind = random.below(8);
  if (kind == 0) return bytes.resize(random.below(bytes.size()));
  if (kind == 1) return bytes.resize(bytes.size() + 1 + random.below(10), std::byte{0xc0});
  for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
    bytes[random.below(bytes.size())] = static_cast<std::byte>(random.bits());
}

// Nothing but ProtocolError may come out of this; what is taken is what encode() makes.
bool is_taken(const std::vector<std::byte>& bytes) {
  try {
    const ControlMessage message = decode_control_message(bytes);
    if (encode(message) != bytes) throw std::logic_error("a message was taken for another");
    return true;
  } catch (const ProtocolError&) {
    return false;
  }
}

}  // namespace

TEST_CASE("a damaged message is refused as such, or it is another good message") {
  SampleMessages samples(2);
  RandomStream random(3, "damage");
  std::vector<std::vector<std::byte>> originals;
  for (std::size_t i = 0; i < 300; ++i)
    originals.push_back(encode(samples.message(i % std::variant_size_v<ControlMessage>)));
  int taken = 0;
  for (int trial = 0; trial < 90000; ++trial) {
    std::vector<std::byte> bytes = originals[random.below(originals.size())];
    mutate(bytes, random);

    taken += is_taken(bytes) ? 1 : 0;
  }

  CHECK(taken > 1000);   // a changed digit of a loss is no damage that can be seen,
  CHECK(taken < 60000);  // but most damage is
}

TEST_CASE("noise is no message") {
  RandomStream random(4, "noise");
  for (int trial = 0; trial < 10000; ++trial) {
    std::vector<std::byte> bytes(random.below(200));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());

    REQUIRE_FALSE(is_taken(bytes));
  }
}

TEST_CASE("a message nested without end is refused, not followed until the stack is gone") {
  for (const std::byte opening : {std::byte{0x91}, std::byte{0x81}}) {
    // Maps alternate with their keys: {"a": {"a": ...
    std::vector<std::byte> bytes;
    for (int i = 0; i < (4 << 20); ++i) {
      bytes.push_back(opening);
      if (opening == std::byte{0x81}) bytes.insert(bytes.end(), {std::byte{0xa1}, std::byte{'a'}});
    }

    CHECK_FALSE(is_taken(bytes));
  }
}

TEST_CASE("a message of many small containers is refused before it takes many times its size") {
  std::vector<std::byte> bytes = {std::byte{0xdd}, std::byte{1}, std::byte{0}, std::byte{0},
                                  std::byte{0}};
  bytes.resize(bytes.size() + (16 << 20), std::byte{0x90});  // 2^24 empty arrays in an array

  CHECK_FALSE(is_taken(bytes));
}

TEST_CASE("an announced length of four billion allocates nothing") {
  for (const int type : {0xdb, 0xdd, 0xdf, 0xc6, 0xc9}) {  // string, array, map, bytes
    std::vector<std::byte> bytes(6, std::byte{0xff});
    bytes[0] = static_cast<std::byte>(type);

    CHECK_FALSE(is_taken(bytes));
  }
}
