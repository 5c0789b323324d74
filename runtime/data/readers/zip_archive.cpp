#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/data/readers/number_array.h"

namespace scavenger {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kEntryMagic("PK\x01\x02", 4);
constexpr std::string_view kFileMagic("PK\x03\x04", 4);
constexpr std::string_view kEndMagic("PK\x05\x06", 4);
constexpr std::size_t kEntryBytes = 46, kFileBytes = 30, kEndBytes = 22;

[[noreturn]] void refuse(const char* what, const std::string& where) {
  throw DataError({.what = what,
                   .where = where,
                   .remedy = "write it with numpy.savez(), or as .npy or .safetensors"});
}

// Throws DataError if the archive ends before the part does.
std::string_view part(std::string_view archive, std::uint64_t first, std::uint64_t size,
                      const std::string& where) {
  if (first > archive.size() || archive.size() - first < size)
    refuse("the archive is truncated, or no ZIP archive", where);
  return archive.substr(first, size);
}

std::uint32_t number(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = offset + size; i > offset; --i)
    value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

std::string inflated(std::string_view packed, std::uint32_t size, const std::string& where) {
  std::string content(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) refuse("cannot unpack", where);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(content.data());
  stream.avail_out = size;
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  if (!whole) refuse("its packed data is damaged", where);
  return content;
}

std::string unpack(std::string_view archive, std::string_view entry, const std::string& where) {
  const std::uint32_t method = number(entry, 10, 2), checksum = number(entry, 16, 4);
  const std::uint32_t packed_size = number(entry, 20, 4), size = number(entry, 24, 4);
  const std::uint32_t offset = number(entry, 42, 4);
  if (size == kMostBytes || offset == kMostBytes)
    refuse("arrays of 4 GiB and more are not read from .npz", where);
  const std::string_view head = part(archive, offset, kFileBytes, where);
  if (!head.starts_with(kFileMagic)) refuse("its directory is damaged", where);
  const std::uint64_t start =
      std::uint64_t{offset} + kFileBytes + number(head, 26, 2) + number(head, 28, 2);
  const std::string_view packed = part(archive, start, packed_size, where);
  if (method != 0 && method != 8) refuse("it is packed in a way that NumPy does not use", where);
  // Deflate expands a byte to at most 1032 bytes, so a damaged archive cannot claim more than that.
  if (method == 0 ? packed_size != size : size / 1033 > packed_size)
    refuse("its directory is damaged", where);
  const std::string content = method == 0 ? std::string(packed) : inflated(packed, size, where);
  const auto found = crc32(0, reinterpret_cast<const Bytef*>(content.data()), size);
  if (found != checksum) refuse("its checksum does not fit: it is damaged", where);
  return content;
}

}  // namespace

std::string read_from_zip(std::string_view archive, const std::string& name,
                          std::vector<std::string>& names, const std::string& where) {
  const std::size_t end_at = archive.rfind(kEndMagic);
  if (end_at == std::string_view::npos) refuse("the archive is truncated", where);
  const std::string_view end = part(archive, end_at, kEndBytes, where);
  const std::uint32_t entries = number(end, 10, 2);
  std::uint64_t at = number(end, 16, 4);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::string_view entry = part(archive, at, kEntryBytes, where);
    if (!entry.starts_with(kEntryMagic)) refuse("its directory is damaged", where);
    names.emplace_back(part(archive, at + kEntryBytes, number(entry, 28, 2), where));
    if (names.back() == name) return unpack(archive, entry, where);
    at += kEntryBytes + names.back().size() + number(entry, 30, 2) + number(entry, 32, 2);
  }
  return {};
}

}  // namespace scavenger
