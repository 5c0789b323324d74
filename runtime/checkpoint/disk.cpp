#include "runtime/checkpoint/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace scavenger {
namespace {

[[noreturn]] void fail(int error_number, const char* action, const std::filesystem::path& path) {
  throw SystemError(
      error_number,
      {.what = std::string("cannot ") + action,
       .where = path.string(),
       .remedy = "check that the disk is mounted, has free space and may be written to"});
}

class LocalFileOutput final : public FileOutput {
 public:
  explicit LocalFileOutput(const std::filesystem::path& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)), path_(path) {
    if (file_.get() < 0) fail(errno, "create", path_);
  }

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno, "write", path_);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void sync() override {
    if (::fsync(file_.get()) != 0) fail(errno, "force to disk", path_);
  }

 private:
  FileDescriptor file_;
  std::filesystem::path path_;
};

}  // namespace

std::unique_ptr<FileOutput> LocalDisk::create_file(const std::filesystem::path& path) {
  return std::make_unique<LocalFileOutput>(path);
}

void LocalDisk::create_folder(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0755) != 0) fail(errno, "create the folder", path);
}

void LocalDisk::create_link(const std::filesystem::path& target,
                            const std::filesystem::path& path) {
  if (::symlink(target.c_str(), path.c_str()) != 0) fail(errno, "create the link", path);
}

void LocalDisk::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(errno, "rename a temporary name to", to);
}

bool LocalDisk::exchange(const std::filesystem::path& a, const std::filesystem::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
  fail(errno, "replace", b);
}

void LocalDisk::sync_folder(const std::filesystem::path& path) {
  sync_to_disk(path);
}

void LocalDisk::remove_all(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) fail(error.value(), "remove", path);
}

std::optional<std::uint64_t> LocalDisk::free_bytes(const std::filesystem::path& path) {
  struct statvfs status {};
  // Some network file systems report a size of 0 if they do not know it.
  if (::statvfs(path.c_str(), &status) != 0 || status.f_blocks == 0) return std::nullopt;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

}  // namespace scavenger
