// The place of each tensor of a model in its flat vector of floats.
//
// The parameters of a job are one flat vector, and so are the gradients and each vector of
// optimizer state; tensors are views of it. Each tensor starts at a multiple of kTensorAlignment,
// so that its data are aligned for the kernels. The floats in the gaps are always zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scavenger {

inline constexpr std::uint64_t kTensorAlignment = 16;  // floats in one cache line

struct TensorPlace {
  std::string name;                 // "layers.0.weight"
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::uint64_t offset = 0;         // floats from the start of the flat vector
  std::uint64_t size = 0;           // floats

  bool operator==(const TensorPlace&) const = default;
};

class TensorLayout final {
 public:
  // Appends a tensor. Requires a new name and positive dimensions.
  void add(std::string name, std::vector<std::int64_t> shape);

  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  // Length of the flat vector in floats, a multiple of kTensorAlignment.
  std::uint64_t flat_size() const { return flat_size_; }
  // Returns the number of floats that belong to tensors, which is the usual parameter count.
  std::uint64_t element_count() const;

  bool operator==(const TensorLayout&) const = default;

 private:
  std::vector<TensorPlace> tensors_;
  std::uint64_t flat_size_ = 0;
};

}  // namespace scavenger
