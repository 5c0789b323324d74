// Where K processes wait for each other before what is measured begins. They spin, because being
// woken up takes longer, and at other times for each, than much of what is measured.
// start_line.py is the same for Python.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/base/error.h"

namespace scavenger::bench {

// Thread: one; each process has its own.
class StartLine final {
 public:
  // `path`: a file of at least 64 bytes of zeros for each runner.
  StartLine(const std::string& path, std::uint32_t rank, std::uint32_t runners)
      : rank_(rank), runners_(runners) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* memory = file < 0 ? MAP_FAILED
                            : ::mmap(nullptr, runners * sizeof(Place), PROT_READ | PROT_WRITE,
                                     MAP_SHARED, file, 0);
    if (file >= 0) ::close(file);
    if (memory == MAP_FAILED)
      throw SystemError({.what = "the start line cannot be mapped",
                         .where = path,
                         .remedy = "start this program through sync_bench.py"});
    places_ = static_cast<Place*>(memory);
  }
  ~StartLine() { ::munmap(places_, runners_ * sizeof(Place)); }
  StartLine(const StartLine&) = delete;
  StartLine& operator=(const StartLine&) = delete;

  // Returns when all runners have called it as often as this one.
  void wait() {
    const std::uint64_t starts = places_[rank_].starts.fetch_add(1) + 1;
    for (std::uint32_t other = 0; other < runners_; ++other)
      while (places_[other].starts.load() < starts) ::sched_yield();
  }

 private:
  struct alignas(64) Place {
    std::atomic<std::uint64_t> starts;
  };

  const std::uint32_t rank_;
  const std::uint32_t runners_;
  Place* places_ = nullptr;
};

}  // namespace scavenger::bench
