#include "runtime/data/readers/data_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace scavenger {
namespace {

constexpr std::size_t kPackedBytes = 1u << 17;        // most bytes of one read from the file
constexpr std::size_t kMostUnpackedBytes = 1u << 24;  // most bytes of one call of zlib
constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::uint8_t kGzipMagic[] = {0x1f, 0x8b};

}  // namespace

// Reads a plain or gzip file. A gzip file consists of parts ("members"), which may be followed by
// zeros, the padding of tapes and block devices. Anything else after the last part is an error,
// since it was meant as data; zlib's own gzread() would silently omit it.
struct DataFile::Handle {
  FileDescriptor file;
  const std::filesystem::path& path;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(kPackedBytes);
  std::size_t next = 0, end = 0;  // the range of `bytes` that is not used yet
  std::uint64_t read_bytes = 0;   // bytes read from the file
  z_stream stream{};
  bool packed = false;
  bool between_parts = true;

  Handle(FileDescriptor opened, const std::filesystem::path& name)
      : file(std::move(opened)), path(name) {
    packed = begins_a_part();
    if (packed && inflateInit2(&stream, kGzipOnly) != Z_OK) refuse("there is no memory for zlib");
  }
  ~Handle() {
    if (packed) inflateEnd(&stream);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[noreturn]] void refuse(const std::string& why) const {
    throw DataError({.what = "the file cannot be read or unpacked: " + why,
                     .where = path.string(),
                     .remedy = "it is truncated or damaged: fetch it again"});
  }

  // Reads until there are `wanted` unused bytes, or until the file ends. Returns how many there
  // are.
  std::size_t fetch(std::size_t wanted) {
    if (end - next >= wanted) return end - next;
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(next),
              bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.begin());
    end -= std::exchange(next, 0);
    while (end < wanted) {
      const ssize_t count = ::read(file.get(), bytes.data() + end, bytes.size() - end);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse(std::strerror(errno));
      if (count == 0) break;
      end += static_cast<std::size_t>(count);
      read_bytes += static_cast<std::uint64_t>(count);
    }
    return end - next;
  }

  bool begins_a_part() {
    return fetch(sizeof kGzipMagic) >= sizeof kGzipMagic &&
           std::equal(std::begin(kGzipMagic), std::end(kGzipMagic), bytes.data() + next);
  }

  std::size_t read_plain(std::span<std::uint8_t> wanted) {
    const std::size_t count = std::min(fetch(1), wanted.size());
    std::copy_n(bytes.data() + next, count, wanted.data());
    next += count;
    return count;
  }

  // Returns 0 only at the end of the file.
  std::size_t read_packed(std::span<std::uint8_t> wanted) {
    const auto asked = static_cast<uInt>(std::min(wanted.size(), kMostUnpackedBytes));
    stream.next_out = wanted.data();
    stream.avail_out = asked;
    while (stream.avail_out == asked) {
      if (between_parts && !begin_part()) return 0;
      if (fetch(1) == 0) refuse("the compressed data stop before their end");
      unpack();
    }
    return asked - stream.avail_out;
  }

  bool begin_part() {
    if (!begins_a_part()) {
      refuse_what_follows();
      return false;
    }
    inflateReset(&stream);
    between_parts = false;
    return true;
  }

  void unpack() {
    stream.next_in = bytes.data() + next;
    stream.avail_in = static_cast<uInt>(end - next);
    const int result = inflate(&stream, Z_NO_FLUSH);
    next = end - stream.avail_in;
    if (result == Z_STREAM_END)
      between_parts = true;
    else if (result != Z_OK)
      refuse(stream.msg != nullptr ? stream.msg : "the compressed data are damaged");
  }

  void refuse_what_follows() {
    while (fetch(1) > 0) {
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(next);
      const auto last = bytes.begin() + static_cast<std::ptrdiff_t>(end);
      const auto found = std::find_if(first, last, [](std::uint8_t byte) { return byte != 0; });
      if (found != last)
        throw DataError(
            {.what = fmt::format("compressed data end, and at byte {} something follows that is "
                                 "no compressed data",
                                 read_bytes - static_cast<std::uint64_t>(last - found)),
             .where = path.string(),
             .remedy = "fetch the file again, or compress all of it: gunzip would leave the end "
                       "out"});
      next = end;
    }
  }
};

DataFile::DataFile(std::filesystem::path path) : path_(std::move(path)) {
  FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    throw DataError({.what = std::string("cannot open the data file: ") + std::strerror(errno),
                     .where = path_.string(),
                     .remedy = "check the path in the configuration and the file's permissions"});
  handle_ = std::make_unique<Handle>(std::move(file), path_);
}

DataFile::~DataFile() = default;

std::size_t DataFile::read(std::span<std::uint8_t> bytes) {
  std::size_t total = 0;
  while (total < bytes.size()) {
    const auto wanted = bytes.subspan(total);
    const std::size_t count =
        handle_->packed ? handle_->read_packed(wanted) : handle_->read_plain(wanted);
    if (count == 0) break;
    total += count;
  }
  return total;
}

std::string DataFile::read_rest() {
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + std::max(before, std::size_t{1} << 16));
    const std::size_t wanted = text.size() - before;
    const std::size_t count = read({reinterpret_cast<std::uint8_t*>(text.data()) + before, wanted});
    text.resize(before + count);
    if (count < wanted) return text;
  }
}

}  // namespace scavenger
