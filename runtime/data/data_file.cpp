#include "runtime/data/data_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr std::size_t kMaxReadBytes = 1u << 24;

}  // namespace

struct DataFile::Handle {
  gzFile file;
};

DataFile::DataFile(std::filesystem::path path) : path_(std::move(path)) {
  errno = 0;
  handle_ = std::make_unique<Handle>(Handle{::gzopen(path_.c_str(), "rbe")});
  if (handle_->file == nullptr)
    throw DataError({.what = std::string("cannot open the data file: ") + std::strerror(errno),
                     .where = path_.string(),
                     .remedy = "check the path in the configuration and the file's permissions"});
  ::gzbuffer(handle_->file, 1u << 17);
}

DataFile::~DataFile() {
  if (handle_->file != nullptr) ::gzclose_r(handle_->file);
}

std::size_t DataFile::read(std::span<std::uint8_t> bytes) {
  std::size_t total = 0;
  while (total < bytes.size()) {
    const std::size_t wanted = std::min(bytes.size() - total, kMaxReadBytes);
    const int count = ::gzread(handle_->file, bytes.data() + total, static_cast<unsigned>(wanted));
    int code = Z_OK;
    const char* text = ::gzerror(handle_->file, &code);
    // A short read also leaves a code behind: Z_BUF_ERROR where a gzip stream just stops.
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw DataError({.what = std::string("the file cannot be read or unpacked: ") +
                               (code == Z_ERRNO ? std::strerror(errno) : text),
                       .where = path_.string(),
                       .remedy = "it is truncated or damaged: fetch it again"});
    if (count == 0) break;
    total += static_cast<std::size_t>(count);
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
