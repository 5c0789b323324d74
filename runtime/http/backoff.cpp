#include "runtime/http/backoff.h"

#include <cstddef>
#include <span>

namespace scavenger {

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  fill_with_secret_bytes(std::as_writable_bytes(std::span(&seed, 1)));
  return seed;
}

}  // namespace scavenger
