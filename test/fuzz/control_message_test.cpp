#include "runtime/protocol/control_message.h"

#include <algorithm>

#include "test/fuzz/fuzz.h"
#include "test/unit/runtime/protocol/sample_messages.h"

using namespace scavenger;

namespace {

// What is taken is what encode() makes.
void decode(const std::string& input) {
  const ControlMessage message = decode_control_message(bytes_of(input));
  require_consistent(std::ranges::equal(encode(message), bytes_of(input)));
}

bool is_taken(const std::vector<std::byte>& bytes) {
  const AllocationLimit limit{.bytes = 64 << 20, .bytes_per_byte = 10};
  return judge<ProtocolError>({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, decode,
                              limit);
}

std::vector<std::string> sample_messages() {
  SampleMessages samples(2);
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < 300; ++i) {
    const auto bytes = encode(samples.message(i % std::variant_size_v<ControlMessage>));
    messages.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return messages;
}

}  // namespace

TEST_CASE("fuzz: a damaged control message is refused as such, or it is another good message") {
  const Verdicts verdicts = fuzz<ProtocolError>(Mutations(3, sample_messages()), decode);

  CHECK(verdicts.accepted > 0);  // a changed digit of a loss is no damage that can be seen
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
