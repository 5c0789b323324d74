// Reproducible random numbers: the same on every machine, with every compiler and number of
// workers.
//
// A stream is named by what it is for, not by when it is used: RandomStream(seed, "augment",
// {epoch, sample}). A checkpoint saves no stream, since each can be made again from its name. (The
// distributions of std:: differ between standard libraries; these do not.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace scavenger {

// xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64 over the stream's name. Not for
// secrets. Thread: one thread at a time.
class RandomStream final {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose,
               std::initializer_list<std::uint64_t> key = {});

  std::uint64_t bits();
  // Returns a uniform integer in [0, limit), without bias. Requires limit > 0.
  std::uint64_t below(std::uint64_t limit);
  // Returns a uniform number in [0, 1), with 53 random bits.
  double uniform();
  // Returns a standard normal number (Marsaglia's polar method).
  double normal();

 private:
  std::array<std::uint64_t, 4> state_;
};

// Returns a random permutation of 0..size-1 (Fisher-Yates).
std::vector<std::uint32_t> permutation(RandomStream& stream, std::uint32_t size);

// Fills `bytes` with random bytes of the operating system that are fit for secrets.
void fill_with_secret_bytes(std::span<std::byte> bytes);

// Returns such bits, for a stream that no other process may have: that of the waits of a client, or
// of names and ids that are used once.
std::uint64_t random_seed();

}  // namespace scavenger
