// Waits on a word of memory that several processes share; std::atomic::wait works only within one
// process.
#pragma once

#include <atomic>
#include <cstdint>

namespace scavenger::ps {

// Returns when woken, after `seconds`, or at once if the word is no longer `seen`. May return
// spuriously.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, double seconds);

// Wakes all threads that wait on the word, in all processes.
void futex_wake_all(std::atomic<std::uint32_t>& word);

}  // namespace scavenger::ps
