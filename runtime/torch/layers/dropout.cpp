#include "runtime/torch/layers/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <span>
#include <vector>

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

std::uint32_t threshold_of(double share) {
  return static_cast<std::uint32_t>(std::ldexp(share, 32));
}

float kept_value(double share) {
  return static_cast<float>(1.0 / (1.0 - share));
}

// The same bits as a number of the type that LibTorch's operators have.
std::int64_t as_int32(std::uint32_t bits) {
  return static_cast<std::int32_t>(bits);
}

// hash ^= hash >> bits, as if the numbers had no sign.
void fold(at::Tensor& hash, std::int64_t bits) {
  hash.bitwise_xor_(
      hash.bitwise_right_shift(bits).bitwise_and_((std::int64_t{1} << (32 - bits)) - 1));
}

}  // namespace

at::Tensor dropout_keys_on(at::Device device, const Model& model) {
  const std::span<const std::uint64_t> samples = model.keys();
  const std::uint32_t layers = model.random_places();
  const at::Tensor keys =
      at::empty({layers, 2, static_cast<std::int64_t>(samples.size())},
                at::TensorOptions().dtype(at::kInt).pinned_memory(!device.is_cpu()));
  auto* number = reinterpret_cast<std::uint32_t*>(keys.data_ptr<std::int32_t>());
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (const std::uint64_t sample : samples) *number++ = mask_key(sample, layer).key;
    for (const std::uint64_t sample : samples) *number++ = mask_key(sample, layer).step;
  }
  return keys.to(keys.options().device(device), /*non_blocking=*/true);
}

MaskKey mask_key(std::uint64_t sample_key, std::uint32_t layer) {
  const std::uint64_t key = mix(sample_key + (layer + 1) * kGoldenRatio);
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32) | 1u};
}

at::Tensor mask_on_cpu(std::span<const MaskKey> keys, std::uint32_t row, double share) {
  const auto n = static_cast<std::int64_t>(keys.size());
  at::Tensor mask = at::empty({n, row}, at::kFloat);
  float* const values = mask.data_ptr<float>();
  at::parallel_for(0, n, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const MaskKey key = keys[static_cast<std::size_t>(i)];
      write_mask(values + i * row, row, key.key, key.step, threshold_of(share), kept_value(share));
    }
  });
  return mask;
}

at::Tensor mask_by_operators(const at::Tensor& keys, std::uint32_t row, double share) {
  at::Tensor hash =
      at::arange(row, keys.options()).mul(keys[1].unsqueeze(1)).add_(keys[0].unsqueeze(1));
  fold(hash, 16);
  hash.mul_(as_int32(0x21f0aaadu));
  fold(hash, 15);
  hash.mul_(as_int32(0xd35a2d97u));
  fold(hash, 15);
  // With the highest bit inverted, the order of signed numbers is that of unsigned ones.
  constexpr std::uint32_t kHighestBit = 0x80000000u;
  hash.bitwise_xor_(as_int32(kHighestBit));
  const at::Tensor is_kept = hash.ge(as_int32(threshold_of(share) ^ kHighestBit));
  return is_kept.to(at::kFloat).mul_(kept_value(share));
}

DropoutLayer::DropoutLayer(Model& model, double share)
    : model_(model), share_(share), place_(model.add_random_place()) {
  SCAVENGER_CHECK(share >= 0.0 && share < 1.0);
}

at::Tensor DropoutLayer::mask_for(const at::Tensor& x) const {
  const auto row = static_cast<std::uint32_t>(x.numel() / x.size(0));
  if (!x.is_cpu()) {
    at::Tensor& keys = model_.layer_keys();
    if (!keys.defined()) keys = dropout_keys_on(x.device(), model_);
    return mask_by_operators(keys[place_], row, share_).view(x.sizes());
  }
  std::vector<MaskKey> keys;
  for (const std::uint64_t key : model_.keys()) keys.push_back(mask_key(key, place_));
  return mask_on_cpu(keys, row, share_).view(x.sizes());
}

at::Tensor DropoutLayer::operator()(const at::Tensor& x) const {
  if (share_ == 0.0 || !model_.training()) return x;
  SCAVENGER_CHECK(static_cast<std::size_t>(x.size(0)) == model_.keys().size());
  const at::Tensor mask = mask_for(x);
  // In reduced precision, values are scaled before they are rounded.
  if (x.scalar_type() != at::kFloat) return x.to(at::kFloat).mul(mask).to(x.scalar_type());
  return x.mul(mask);
}

}  // namespace scavenger
