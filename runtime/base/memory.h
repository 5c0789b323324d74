// How much memory this machine has left.
#pragma once

#include <cstdint>
#include <filesystem>

namespace scavenger {

// Bytes that this process may still take: the machine's that are free or easily freed
// (MemAvailable), or less where a control group (version 2: a container, a service) sets a limit.
// `root` is where /proc and /sys are. Throws SystemError where the machine does not say.
std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace scavenger
