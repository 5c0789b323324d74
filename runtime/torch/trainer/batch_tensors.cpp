#include "runtime/torch/trainer/batch_tensors.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/torch/trainer/alignment.h"

namespace scavenger {
namespace {

// Casts const away, since a tensor's memory is never const; batches are only read.
template <typename Values>
at::Tensor rows_of(const Values& values, std::uint32_t rows,
                   const std::vector<std::int64_t>& row_shape, std::uint32_t first,
                   std::uint32_t last) {
  using T = typename Values::value_type;
  std::int64_t row = 1;
  for (const std::int64_t size : row_shape) row *= size;
  SCAVENGER_CHECK(first < last && last <= rows &&
                  values.size() == static_cast<std::size_t>(row) * rows);
  std::vector<std::int64_t> shape = {last - first};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  T* const start = const_cast<T*>(values.data()) + first * row;
  const at::Tensor view = at::from_blob(start, shape, c10::CppTypeToScalarType<T>::value);
  return starts_cache_line(start) ? view : view.clone();
}

// Sentences may be longer than those of the training data.
bool has_shape(const std::vector<std::int64_t>& found, const DataShape& shape) {
  return shape.vocabulary > 0 ? found.size() == 1 : found == shape.sample_shape;
}

BatchTensors tensors_on_host(const Batch& batch, const DataShape& shape, std::uint32_t first,
                             std::uint32_t last) {
  SCAVENGER_CHECK(has_shape(batch.sample_shape, shape));
  BatchTensors tensors;
  ModelInput& input = tensors.input;
  if (shape.vocabulary > 0)
    input.samples = rows_of(batch.tokens, batch.size, batch.sample_shape, first, last);
  else
    input.samples = rows_of(batch.features, batch.size, batch.sample_shape, first, last);

  if (shape.target == TargetKind::kValues) {
    tensors.targets = rows_of(batch.values, batch.size, batch.target_shape, first, last);
    return tensors;
  }
  tensors.targets = rows_of(batch.labels, batch.size, batch.target_shape, first, last);
  if (shape.target == TargetKind::kLabel) return tensors;
  if (shape.target == TargetKind::kSequence) {
    input.targets = tensors.targets;
    tensors.targets = input.targets.narrow(1, 1, input.targets.size(1) - 1);
  }
  tensors.targets = tensors.targets.reshape(-1);
  input.predicted = tensors.targets.ne(kPaddingToken).nonzero().squeeze(1);
  tensors.targets = tensors.targets.index_select(0, input.predicted);
  return tensors;
}

}  // namespace

BatchTensors tensors_of(const Batch& batch, const DataShape& shape, std::uint32_t first,
                        std::uint32_t last, at::Device device) {
  BatchTensors tensors = tensors_on_host(batch, shape, first, last);
  if (device.is_cpu()) return tensors;
  ModelInput& input = tensors.input;
  for (at::Tensor* tensor : {&input.samples, &input.targets, &input.predicted, &tensors.targets})
    if (tensor->defined()) *tensor = tensor->to(device);
  return tensors;
}

}  // namespace scavenger
