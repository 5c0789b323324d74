// For tests under the thread sanitizer: what is mapped of one shared file lies at one address.
//
// In a job each process maps the segment for itself. The tests do so too, with threads instead of
// processes; but the sanitizer goes by addresses, so of what two mappings share it would see no
// race. Linked with --wrap=mmap,--wrap=munmap.
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

extern "C" {
void* __real_mmap(void* address, std::size_t bytes, int access, int flags, int file, off_t offset);
int __real_munmap(void* address, std::size_t bytes);
}

namespace {

constexpr std::size_t kRoomBytes = std::size_t{256} << 20;  // more than any test's file has

std::mutex mutex;
std::map<std::pair<dev_t, ino_t>, std::byte*> files;  // which a test may map again: none is ended

std::byte* mapping_of(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return nullptr;
  std::byte*& mapping = files[{status.st_dev, status.st_ino}];
  if (mapping == nullptr) {
    void* const address = __real_mmap(nullptr, kRoomBytes, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_NORESERVE, file, 0);
    if (address != MAP_FAILED) mapping = static_cast<std::byte*>(address);
  }
  return mapping;
}

}  // namespace

extern "C" void* __wrap_mmap(void* address, std::size_t bytes, int access, int flags, int file,
                             off_t offset) {
  const bool is_shared = (flags & MAP_SHARED) != 0 && (access & PROT_WRITE) != 0 && file >= 0;
  if (!is_shared) return __real_mmap(address, bytes, access, flags, file, offset);
  const std::lock_guard lock(mutex);
  std::byte* const begin = mapping_of(file);
  if (begin == nullptr || static_cast<std::size_t>(offset) + bytes > kRoomBytes) return MAP_FAILED;
  return begin + offset;
}

extern "C" int __wrap_munmap(void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto* const begin = static_cast<std::byte*>(address);
  for (const auto& [file, mapping] : files)
    if (begin >= mapping && begin < mapping + kRoomBytes) return 0;
  return __real_munmap(address, bytes);
}
