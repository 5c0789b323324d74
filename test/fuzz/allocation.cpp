#include "test/fuzz/allocation.h"

#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t bytes_allocated = 0;

void* allocate(std::size_t bytes) {
  bytes_allocated += bytes;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

namespace scavenger {

std::uint64_t bytes_allocated_by_this_thread() {
  return bytes_allocated;
}

}  // namespace scavenger

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
// Catch2 allocates so, too: all or none must be ours, or AddressSanitizer sees a mismatch.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  bytes_allocated += bytes;
  return std::malloc(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  bytes_allocated += bytes;
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
