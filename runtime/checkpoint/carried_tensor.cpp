#include "runtime/checkpoint/carried_tensor.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/base/check.h"

namespace scavenger {
namespace {

constexpr std::array kCarriedTypes = {ElementType::kBool, ElementType::kU8,  ElementType::kI8,
                                      ElementType::kU16,  ElementType::kI16, ElementType::kF16,
                                      ElementType::kBF16, ElementType::kU32, ElementType::kI32,
                                      ElementType::kU64,  ElementType::kI64, ElementType::kF64};

std::size_t piece_bytes(ElementType type) {
  return std::min<std::size_t>(2, element_bytes(type));
}

}  // namespace

std::string carried_name(const std::string& name, ElementType type) {
  return name + ":" + std::string(element_type_name(type));
}

std::vector<std::int64_t> carried_shape(std::vector<std::int64_t> shape, ElementType type) {
  shape.push_back(static_cast<std::int64_t>(element_bytes(type) / piece_bytes(type)));
  return shape;
}

std::optional<CarriedTensor> carried_by(std::string_view name,
                                        const std::vector<std::int64_t>& shape) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || shape.empty()) return std::nullopt;
  const auto type = std::ranges::find(kCarriedTypes, name.substr(colon + 1), element_type_name);
  if (type == kCarriedTypes.end()) return std::nullopt;
  CarriedTensor carried{std::string(name.substr(0, colon)), *type, shape};
  carried.shape.pop_back();
  return carried_shape(carried.shape, *type) == shape ? std::optional(carried) : std::nullopt;
}

void pack_bytes(std::span<const std::byte> bytes, ElementType type, std::span<float> numbers) {
  const std::size_t size = piece_bytes(type);
  SCAVENGER_CHECK(bytes.size() == numbers.size() * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint16_t piece = 0;
    std::memcpy(&piece, bytes.data() + i * size, size);
    numbers[i] = piece;
  }
}

void unpack_bytes(std::span<const float> numbers, ElementType type, std::span<std::byte> bytes) {
  const std::size_t size = piece_bytes(type);
  SCAVENGER_CHECK(bytes.size() == numbers.size() * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto piece = static_cast<std::uint16_t>(numbers[i]);
    std::memcpy(bytes.data() + i * size, &piece, size);
  }
}

}  // namespace scavenger
