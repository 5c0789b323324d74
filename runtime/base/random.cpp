#include "runtime/base/random.h"

#include <openssl/rand.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint64_t rotate_left(std::uint64_t x, int bits) {
  return (x << bits) | (x >> (64 - bits));
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose,
                           std::initializer_list<std::uint64_t> key)
    : state_{} {
  std::uint64_t hash = seed;
  const auto absorb = [&hash](std::uint64_t word) {
    hash ^= word;
    hash = split_mix(hash);
  };
  absorb(purpose.size());
  for (const char c : purpose) absorb(static_cast<unsigned char>(c));
  absorb(key.size());
  for (const std::uint64_t word : key) absorb(word);
  for (std::uint64_t& word : state_) word = split_mix(hash);
}

std::uint64_t RandomStream::bits() {
  const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::uint64_t RandomStream::below(std::uint64_t limit) {
  SCAVENGER_CHECK(limit > 0);
  // Values above the largest multiple of `limit` would make small results likelier, so draw again.
  const std::uint64_t accepted = UINT64_MAX - (UINT64_MAX % limit + 1) % limit;
  std::uint64_t draw = bits();
  while (draw > accepted) draw = bits();
  return draw % limit;
}

double RandomStream::uniform() {
  return static_cast<double>(bits() >> 11) * 0x1.0p-53;
}

double RandomStream::normal() {
  for (;;) {
    const double u = 2.0 * uniform() - 1.0;
    const double v = 2.0 * uniform() - 1.0;
    const double s = u * u + v * v;
    if (s > 0.0 && s < 1.0) return u * std::sqrt(-2.0 * std::log(s) / s);
  }
}

std::vector<std::uint32_t> permutation(RandomStream& stream, std::uint32_t size) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = size; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

void fill_with_secret_bytes(std::span<std::byte> bytes) {
  const int ok =
      RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  if (ok != 1)
    throw SystemError(
        {.what = "the operating system gave no random bytes", .where = {}, .remedy = {}});
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  fill_with_secret_bytes(std::as_writable_bytes(std::span(&seed, 1)));
  return seed;
}

}  // namespace scavenger
