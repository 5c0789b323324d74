// How much memory this machine has available.
#pragma once

#include <cstdint>
#include <filesystem>

namespace scavenger {

// Returns the bytes that this process may still allocate: the machine's available memory
// (MemAvailable), or less if a control group (version 2; of a container or a service) sets a limit.
// `root` is the folder that contains /proc and /sys. Throws SystemError if the kernel does not
// report its memory.
std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace scavenger
