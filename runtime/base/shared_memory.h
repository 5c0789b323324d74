// Memory that processes of one host share: unnamed files, and mappings of parts of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/file.h"

namespace scavenger {

// A mapped part of a file. It can be neither copied nor moved.
class SharedMapping final {
 public:
  // Requires that `offset` is a multiple of the page size, and that the file has at least `offset +
  // bytes` bytes. Throws SystemError if it cannot be mapped.
  SharedMapping(int file, std::uint64_t offset, std::uint64_t bytes);
  ~SharedMapping();
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Creates an empty, unnamed file, which exists until the last process closes it. It can grow but
// not shrink, so that every mapping stays valid. Throws SystemError.
FileDescriptor make_shared_file();

// Allocates the memory of this part of the file now, so that a lack of it does not kill a process
// during training. Throws SystemError if there is too little memory.
void reserve_shared_memory(int file, std::uint64_t offset, std::uint64_t bytes);

// Returns the size of the file. Throws SystemError.
std::uint64_t shared_file_bytes(int file);

// Opens the file that process `pid` of this host and user has open as descriptor `number`. The
// result holds -1 if there is no such file, or if it can shrink.
FileDescriptor open_shared_file_of(std::int64_t pid, int number);

// Rounds `bytes` up to a whole number of pages.
std::uint64_t whole_pages(std::uint64_t bytes);

}  // namespace scavenger
