#include "runtime/base/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

SystemError memory_error(const char* what) {
  return SystemError(errno, {.what = what,
                             .where = "shared memory",
                             .remedy = "the machine may be short of memory; or use "
                                       "sync.transport tcp"});
}

}  // namespace

SharedMapping::SharedMapping(int file, std::uint64_t offset, std::uint64_t bytes) : bytes_(bytes) {
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                               file, static_cast<off_t>(offset));
  if (address == MAP_FAILED) throw memory_error("cannot be mapped");
  data_ = static_cast<std::byte*>(address);
}

SharedMapping::~SharedMapping() {
  ::munmap(data_, bytes_);
}

FileDescriptor make_shared_file() {
  FileDescriptor file(::memfd_create("scavenger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0 || ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    throw memory_error("cannot be made");
  return file;
}

void reserve_shared_memory(int file, std::uint64_t offset, std::uint64_t bytes) {
  if (::fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0)
    throw memory_error("cannot be made that large");
}

std::uint64_t shared_file_bytes(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) throw memory_error("cannot be looked at");
  return static_cast<std::uint64_t>(status.st_size);
}

FileDescriptor open_shared_file_of(std::int64_t pid, int number) {
  FileDescriptor file(
      ::open(fmt::format("/proc/{}/fd/{}", pid, number).c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) return file;
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 ? std::move(file) : FileDescriptor();
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace scavenger
