// Sleeping on a word of memory that several processes share. std::atomic::wait works within one
// process only.
#pragma once

#include <atomic>
#include <cstdint>

namespace scavenger::ps {

// Returns when woken, after `seconds`, or at once where the word is not `seen` any more. May return
// for no reason.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, double seconds);

// Wakes all that wait for the word, in all processes.
void futex_wake_all(std::atomic<std::uint32_t>& word);

}  // namespace scavenger::ps
