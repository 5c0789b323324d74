// Files as NumPy writes them, for the tests of what reads them.
#pragma once

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace scavenger {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

template <typename Number>
std::string content_of(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

inline std::string npy(const std::string& type, const std::string& shape, const std::string& data,
                       const std::string& order = "False") {
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }\n";
  return "\x93NUMPY" + std::string("\x01\x00", 2) + little_endian(header.size(), 2) + header + data;
}

inline std::string deflated(const std::string& content) {
  std::string packed(content.size() + 100, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

struct Member {
  std::string name, content;
  bool packed = false;
};

inline std::string zip(const std::vector<Member>& members) {
  std::string archive, directory;
  for (const Member& member : members) {
    const std::string data = member.packed ? deflated(member.content) : member.content;
    const auto checksum = crc32(0, reinterpret_cast<const Bytef*>(member.content.data()),
                                static_cast<uInt>(member.content.size()));
    const std::string facts = little_endian(member.packed ? 8 : 0, 2) + little_endian(0, 4) +
                              little_endian(checksum, 4) + little_endian(data.size(), 4) +
                              little_endian(member.content.size(), 4) +
                              little_endian(member.name.size(), 2);
    directory += std::string("PK\x01\x02") + little_endian(20, 2) + little_endian(20, 2) +
                 little_endian(0, 2) + facts + little_endian(0, 2) + little_endian(0, 2) +
                 little_endian(0, 8) + little_endian(archive.size(), 4) + member.name;
    archive += std::string("PK\x03\x04") + little_endian(20, 2) + little_endian(0, 2) + facts +
               little_endian(3, 2) + member.name + "abc" + data;
  }
  return archive + directory + std::string("PK\x05\x06") + little_endian(0, 4) +
         little_endian(members.size(), 2) + little_endian(members.size(), 2) +
         little_endian(directory.size(), 4) + little_endian(archive.size(), 4) +
         little_endian(0, 2);
}

}  // namespace scavenger
