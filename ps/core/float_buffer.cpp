#include "ps/core/float_buffer.h"

#include <cstdlib>
#include <new>

namespace scavenger::ps {
namespace {

constexpr std::uint64_t kCacheLineBytes = 64;

}  // namespace

FloatBuffer::FloatBuffer(std::uint64_t size) : size_(size) {
  const std::uint64_t lines = size * sizeof(float) / kCacheLineBytes + 1;
  floats_.reset(static_cast<float*>(std::aligned_alloc(kCacheLineBytes, lines * kCacheLineBytes)));
  if (!floats_) throw std::bad_alloc();
}

void FloatBuffer::Free::operator()(float* floats) const {
  std::free(floats);
}

}  // namespace scavenger::ps
