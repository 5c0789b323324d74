// Where each tensor of a model lives in its flat vector of floats.
//
// Parameters (and gradients, and optimizer state) of a job are one flat vector; tensors are views
// of it. Each tensor starts at a multiple of kTensorAlignment, so that kernels find their data
// aligned; the gap floats are always zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scavenger {

inline constexpr std::uint64_t kTensorAlignment = 16;  // floats: one cache line

struct TensorPlace {
  std::string name;                 // "layers.0.weight"
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::uint64_t offset = 0;         // in floats from the start of the flat vector
  std::uint64_t size = 0;           // in floats

  bool operator==(const TensorPlace&) const = default;
};

class TensorLayout final {
 public:
  // Appends a tensor after those already there. Requires a name not used before and positive
  // dimensions.
  void add(std::string name, std::vector<std::int64_t> shape);

  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  // Length of the flat vector in floats, a multiple of kTensorAlignment.
  std::uint64_t flat_size() const { return flat_size_; }
  // Floats that belong to tensors: the number of parameters that people quote.
  std::uint64_t element_count() const;

  bool operator==(const TensorLayout&) const = default;

 private:
  std::vector<TensorPlace> tensors_;
  std::uint64_t flat_size_ = 0;
};

}  // namespace scavenger
