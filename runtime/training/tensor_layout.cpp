#include "runtime/training/tensor_layout.h"

#include <utility>

#include "runtime/base/check.h"

namespace scavenger {

void TensorLayout::add(std::string name, std::vector<std::int64_t> shape) {
  std::uint64_t size = 1;
  for (const std::int64_t dimension : shape) {
    SCAVENGER_CHECK(dimension > 0);
    size *= static_cast<std::uint64_t>(dimension);
  }
  for (const TensorPlace& other : tensors_) SCAVENGER_CHECK(other.name != name);
  tensors_.push_back({std::move(name), std::move(shape), flat_size_, size});
  flat_size_ += (size + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

std::uint64_t TensorLayout::element_count() const {
  std::uint64_t count = 0;
  for (const TensorPlace& tensor : tensors_) count += tensor.size;
  return count;
}

}  // namespace scavenger
