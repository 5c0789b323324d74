// How much memory this machine has available, and whether this process keeps what it frees.
#pragma once

#include <cstdint>
#include <filesystem>

namespace scavenger {

// Returns the bytes that this process may still allocate: the machine's available memory
// (MemAvailable), or less if a control group (version 2; of a container or a service) sets a limit.
// `root` is the folder that contains /proc and /sys. Throws SystemError if the kernel does not
// report its memory.
std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

// Has this process keep the memory that it frees. Each iteration of a training frees memory that
// the next one allocates again. By default the C library returns large blocks to the kernel in
// between, which costs a page fault for every 4 KiB, up to a tenth of a small network's time
// (docs/models.md). Does nothing with other C libraries than glibc.
void keep_freed_memory();

}  // namespace scavenger
