// Reproducible random numbers: the same on every machine, compiler and number of workers.
//
// A stream is named by what it is for, not by when it is used: RandomStream(seed, "augment",
// {epoch, sample}). Nothing has to be saved in a checkpoint, since every stream can be made again
// from its name. (std:: distributions differ between standard libraries; these do not.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace scavenger {

// xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64 over the name. Not for secrets.
// Thread: one thread at a time.
class RandomStream final {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose,
               std::initializer_list<std::uint64_t> key = {});

  std::uint64_t bits();
  // Uniform in [0, limit), without bias. Requires limit > 0.
  std::uint64_t below(std::uint64_t limit);
  // Uniform in [0, 1), with 53 bits.
  double uniform();
  // Standard normal (Marsaglia's polar method).
  double normal();

 private:
  std::array<std::uint64_t, 4> state_;
};

// A random order of 0..size-1 (Fisher-Yates).
std::vector<std::uint32_t> permutation(RandomStream& stream, std::uint32_t size);

// Fills `bytes` with bits fit for secrets, from the operating system.
void fill_with_secret_bytes(std::span<std::byte> bytes);

}  // namespace scavenger
