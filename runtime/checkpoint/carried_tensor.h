// Tensors of any element type in a flat vector of floats, bit by bit: counters such as BatchNorm's
// num_batches_tracked, in user's models. An element of n bytes is max(1, n / 2) numbers of one or
// two bytes each, which floats hold exactly. "bn1.num_batches_tracked" of type I64 and shape [] is
// carried as "bn1.num_batches_tracked:I64" of shape [4].
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

// A buffer with the SHA-256 of the parameters that were frozen, in numbers of 16 bits: so that a
// job does not go on with others than it was begun with.
inline constexpr const char* kFrozenMark = "frozen:sha256";

struct CarriedTensor {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
};

std::string carried_name(const std::string& name, ElementType type);
std::vector<std::int64_t> carried_shape(std::vector<std::int64_t> shape, ElementType type);

// What a tensor of this name and shape carries; nothing where it is one of floats.
std::optional<CarriedTensor> carried_by(std::string_view name,
                                        const std::vector<std::int64_t>& shape);

// Between an element type's bytes and the numbers, of which there are as many as in the carried
// shape.
void pack_bytes(std::span<const std::byte> bytes, ElementType type, std::span<float> numbers);
void unpack_bytes(std::span<const float> numbers, ElementType type, std::span<std::byte> bytes);

}  // namespace scavenger
