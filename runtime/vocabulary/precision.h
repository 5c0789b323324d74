// The precision of matrix products and convolutions. Weights, gradients and sums stay float32.
#pragma once

#include <array>

#include "runtime/vocabulary/word.h"

namespace scavenger {

// kTf32: a GPU rounds the factors of float32 products to 10 bits of mantissa.
enum class Precision { kFloat32, kTf32, kBfloat16, kFloat16 };

inline constexpr std::array<Named<Precision>, 4> kPrecisions{{
    {Precision::kFloat32, "float32"},
    {Precision::kTf32, "tf32"},
    {Precision::kBfloat16, "bfloat16"},
    {Precision::kFloat16, "float16"},
}};
static_assert(is_complete(kPrecisions, Precision::kFloat16));

constexpr const auto& table_of(Precision) {
  return kPrecisions;
}

}  // namespace scavenger
