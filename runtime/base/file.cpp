#include "runtime/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

[[noreturn]] void fail(const char* action, const std::filesystem::path& path) {
  throw SystemError(
      errno, {.what = std::string("cannot ") + action, .where = path.string(), .remedy = {}});
}

FileDescriptor open_file(const std::filesystem::path& path, int flags, const char* action) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (fd < 0) fail(action, path);
  return FileDescriptor(fd);
}

[[noreturn]] void throw_too_large(const std::filesystem::path& path, std::uint64_t most_bytes) {
  throw SystemError({.what = "has more than " + std::to_string(most_bytes) + " bytes",
                     .where = path.string(),
                     .remedy = "name a file of the kind that is asked for"});
}

void write_all(const FileDescriptor& file, std::string_view content,
               const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Where a link leads, also if nothing is there yet.
std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path);
  return path;
}

}  // namespace

FileDescriptor open_regular_file(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe blocks until another process opens it for writing.
  FileDescriptor file = open_file(path, O_RDONLY | O_NONBLOCK, "open");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("read the size of", path);
  if (S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    fail("read", path);
  }
  if (!S_ISREG(status.st_mode))
    throw SystemError({.what = "is not a regular file",
                       .where = path.string(),
                       .remedy = "name a file, not a folder, a pipe or a device"});
  return file;
}

std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes) {
  const FileDescriptor file = open_regular_file(path);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path);
    if (count == 0) return content;
    content.append(buffer, static_cast<std::size_t>(count));
    if (content.size() > most_bytes) throw_too_large(path, most_bytes);
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  {
    const FileDescriptor file = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, "create");
    write_all(file, content, temporary);
    if (::fsync(file.get()) != 0) fail("force to disk", temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail("rename a temporary file to", path);
  sync_to_disk(path.has_parent_path() ? path.parent_path() : ".");
}

void write_output_file(const std::filesystem::path& path, std::string_view content) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::regular)
    return write_file_atomically(behind_links(path), content);
  // A pipe that nobody reads is an error, and not a reason to wait.
  const FileDescriptor file = open_file(path, O_WRONLY | O_NONBLOCK, "write to");
  if (::fcntl(file.get(), F_SETFL, 0) != 0) fail("write to", path);
  write_all(file, content, path);
}

void sync_to_disk(const std::filesystem::path& path) {
  const FileDescriptor file = open_file(path, O_RDONLY, "open");
  if (::fsync(file.get()) != 0) fail("force to disk", path);
}

FileDescriptor::~FileDescriptor() {
  close();
}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() {
  return std::exchange(fd_, -1);
}

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const FileDescriptor file = open_regular_file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail("read the size of", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) fail("map", path);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace scavenger
