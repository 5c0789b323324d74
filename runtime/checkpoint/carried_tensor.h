// Stores tensors of any element type exactly in a flat vector of floats, such as BatchNorm's
// counter num_batches_tracked in users' models. An element of n bytes becomes max(1, n / 2) numbers
// of one or two bytes each, which floats represent exactly. "bn1.num_batches_tracked" of type I64
// and shape [] is carried as "bn1.num_batches_tracked:I64" of shape [4].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/safetensors/safetensors.h"

namespace scavenger {

// Name of the buffer that holds the SHA-256 of the frozen parameters, as numbers of 16 bits. With
// it, a job detects frozen parameters that differ from those that it started with.
inline constexpr const char* kFrozenMark = "frozen:sha256";

struct CarriedTensor {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
};

std::string carried_name(const std::string& name, ElementType type);
std::vector<std::int64_t> carried_shape(std::vector<std::int64_t> shape, ElementType type);

// Returns what a tensor of this name and shape carries; nothing if it is a tensor of floats.
std::optional<CarriedTensor> carried_by(std::string_view name,
                                        const std::vector<std::int64_t>& shape);

// Convert between the bytes of an element type and the numbers. Require as many numbers as the
// carried shape has.
void pack_bytes(std::span<const std::byte> bytes, ElementType type, std::span<float> numbers);
void unpack_bytes(std::span<const float> numbers, ElementType type, std::span<std::byte> bytes);

}  // namespace scavenger
