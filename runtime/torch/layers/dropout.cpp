#include "runtime/torch/layers/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <cmath>
#include <span>

#include "runtime/base/check.h"

namespace scavenger {
namespace {

constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

#pragma GCC push_options
#pragma GCC optimize("O3")
// Keeps value i if a hash of (key, i) is at least `threshold`. The hash is Wellons' "lowbias32" of
// 32-bit numbers, which is computed in four or eight lanes at once.
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
void write_mask(float* values, std::uint32_t size, std::uint32_t key, std::uint32_t step,
                std::uint32_t threshold, float kept) {
  for (std::uint32_t i = 0; i < size; ++i) {
    std::uint32_t hash = i * step + key;
    hash = (hash ^ (hash >> 16)) * 0x21f0aaadu;
    hash = (hash ^ (hash >> 15)) * 0xd35a2d97u;
    hash ^= hash >> 15;
    values[i] = hash >= threshold ? kept : 0.0f;
  }
}
#pragma GCC pop_options

}  // namespace

DropoutLayer::DropoutLayer(Model& model, double share)
    : model_(model), share_(share), place_(model.add_random_place()) {
  SCAVENGER_CHECK(share >= 0.0 && share < 1.0);
}

at::Tensor DropoutLayer::operator()(const at::Tensor& x) const {
  if (share_ == 0.0 || !model_.training()) return x;
  const std::span<const std::uint64_t> keys = model_.keys();
  SCAVENGER_CHECK(static_cast<std::size_t>(x.size(0)) == keys.size());
  // The CPU computes the mask, wherever the model is, so that it is the same everywhere.
  at::Tensor mask = at::empty_like(x, x.options().requires_grad(false).device(at::kCPU),
                                   at::MemoryFormat::Contiguous);
  float* const values = mask.data_ptr<float>();
  const auto row = static_cast<std::uint32_t>(x.numel() / x.size(0));
  const auto threshold = static_cast<std::uint32_t>(std::ldexp(share_, 32));
  const auto kept = static_cast<float>(1.0 / (1.0 - share_));
  at::parallel_for(0, x.size(0), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t sample = first; sample < last; ++sample) {
      const std::uint64_t key =
          mix(keys[static_cast<std::size_t>(sample)] + (place_ + 1) * kGoldenRatio);
      // An odd step visits all 32-bit numbers; each sample has a step of its own.
      write_mask(values + sample * row, row, static_cast<std::uint32_t>(key),
                 static_cast<std::uint32_t>(key >> 32) | 1u, threshold, kept);
    }
  });
  return x.mul(mask.to(x.device()));
}

}  // namespace scavenger
