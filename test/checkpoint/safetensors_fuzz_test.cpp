// Seeded mutations of valid files: the reader either refuses with CheckpointError or returns
// tensors that lie in the file. Anything else (a crash, another exception, a sanitizer's report)
// fails.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/safetensors/safetensors.h"

namespace scavenger {
namespace {

std::string with_length(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

struct Seed {
  std::string header;
  std::string data;
};

const std::vector<Seed>& seeds() {
  static const std::vector<Seed> files = {
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", std::string(8, 'x')},
      {R"({"__metadata__":{"format":"pt"},)"
       R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
       R"("b":{"dtype":"I64","shape":[],"data_offsets":[16,24]},)"
       R"("c":{"dtype":"U8","shape":[0],"data_offsets":[24,24]}}   )",
       std::string(24, 'x')},
      {"{}", ""}};
  return files;
}

// Fragments that a parser of this format trips over.
const std::vector<std::string>& fragments() {
  static const std::vector<std::string> texts = {"{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 ":",
                                                 "\"",
                                                 "-1",
                                                 "1e9",
                                                 "null",
                                                 "true",
                                                 "\xff",
                                                 "\\u0000",
                                                 "18446744073709551615",
                                                 "9223372036854775808",
                                                 "\"dtype\":\"F64\",",
                                                 "\"a\":{\"dtype\":\"F32\",\"shape\":[2],",
                                                 "\"__metadata__\":",
                                                 "[[[[[[[["};
  return texts;
}

void mutate(std::string& file, RandomStream& random) {
  const auto place = [&] { return static_cast<std::size_t>(random.below(file.size() + 1)); };
  const std::size_t at = place();
  const std::size_t count = std::min<std::size_t>(random.below(9), file.size() - at);
  switch (random.below(6)) {
    case 0:
      if (at < file.size()) file[at] = static_cast<char>(file[at] ^ (1 << random.below(8)));
      break;
    case 1:
      if (at < file.size()) file[at] = static_cast<char>('0' + random.below(10));
      break;
    case 2:
      file.erase(at, count);
      break;
    case 3:
      file.insert(at, fragments()[random.below(fragments().size())]);
      break;
    case 4:
      file.insert(place(), file.substr(at, count));
      break;
    default:
      file.resize(at);
      break;
  }
}

// Half of the time the mutations are in the header, whose length is right: they reach the JSON.
std::string mutated_file(RandomStream& random) {
  const Seed& seed = seeds()[random.below(seeds().size())];
  std::string header = seed.header;
  std::string file = with_length(seed.header, seed.data);
  const bool in_header = random.below(2) == 0;
  for (std::uint64_t n = random.below(4) + 1; n > 0; --n) {
    mutate(in_header ? header : file, random);
  }
  return in_header ? with_length(header, seed.data) : file;
}

bool lies_within(const SafetensorsContent& content, const std::string& file) {
  const auto bytes = std::as_bytes(std::span(file));
  return std::ranges::all_of(content.tensors, [&](const TensorEntry& tensor) {
    return tensor.bytes.data() >= bytes.data() &&
           tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size();
  });
}

}  // namespace

TEST_CASE("No mutated safetensors file does more than be refused") {
  constexpr int kInputs = 30000;
  RandomStream random(20261121, "safetensors fuzz");
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < kInputs; ++i) {
    const std::string file = mutated_file(random);
    try {
      const SafetensorsContent content =
          parse_safetensors(std::as_bytes(std::span(file)), "mutated");
      if (!lies_within(content, file)) FAIL("input " << i << " has a tensor outside of the file");
      ++accepted;
    } catch (const CheckpointError&) {
      ++refused;
    }
  }

  CHECK(accepted > kInputs / 100);  // the mutations are not all trivially wrong
  CHECK(refused > kInputs / 2);
}

}  // namespace scavenger
