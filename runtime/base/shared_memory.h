// Memory that processes of one host share: files without names, and mappings of their parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/file.h"

namespace scavenger {

// A part of a file in memory. Neither copied nor moved.
class SharedMapping final {
 public:
  // Requires a whole number of pages before `offset`, and that the file is that long. Throws
  // SystemError.
  SharedMapping(int file, std::uint64_t offset, std::uint64_t bytes);
  ~SharedMapping();
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// An empty file without a name, which goes with the last process that has it. It can grow and
// never shrink, so that nobody's mapping ends before its time. Throws SystemError.
FileDescriptor make_shared_file();

// Gives the file memory for this part now, rather than a fault in mid-training. Throws SystemError
// where there is not that much.
void reserve_shared_memory(int file, std::uint64_t offset, std::uint64_t bytes);

// Throws SystemError.
std::uint64_t shared_file_bytes(int file);

// The file that another process of this host and user has under that number; -1 within it where
// there is none, or it may shrink.
FileDescriptor open_shared_file_of(std::int64_t pid, int number);

// The least that is a whole number of pages.
std::uint64_t whole_pages(std::uint64_t bytes);

}  // namespace scavenger
