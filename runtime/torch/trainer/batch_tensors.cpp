#include "runtime/torch/trainer/batch_tensors.h"

#include <ATen/ops/empty.h>
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

RawImageTensors raw_images_of(const Batch& batch, std::uint32_t first, std::uint32_t last) {
  const RawImages& images = batch.raw_images;
  RawImageTensors tensors;
  tensors.pixels = images.bytes.empty()
                       ? rows_of(images.floats, batch.size, batch.sample_shape, first, last)
                       : rows_of(images.bytes, batch.size, batch.sample_shape, first, last);
  tensors.changes = rows_of(images.changes, batch.size, {kNumbersOfChange}, first, last);
  tensors.channels = at::empty({static_cast<std::int64_t>(images.channels.size()), 3}, at::kFloat);
  float* number = tensors.channels.data_ptr<float>();
  for (const ChannelNormalisation& channel : images.channels) {
    *number++ = channel.scale;
    *number++ = channel.mean;
    *number++ = channel.inverse_deviation;
  }
  tensors.padding = images.padding;
  return tensors;
}

}  // namespace

void BatchTensors::prepare() {
  if (!raw_images.pixels.defined()) return;
  input.samples = prepared_images(raw_images);
  raw_images = {};
}

BatchTensors raw_tensors_of(const Batch& batch, const DataShape& shape, std::uint32_t first,
                            std::uint32_t last) {
  SCAVENGER_CHECK(has_shape(batch.sample_shape, shape));
  BatchTensors tensors;
  ModelInput& input = tensors.input;
  if (shape.vocabulary > 0)
    input.samples = rows_of(batch.tokens, batch.size, batch.sample_shape, first, last);
  else if (!batch.raw_images.is_empty())
    tensors.raw_images = raw_images_of(batch, first, last);
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

BatchTensors tensors_of(const Batch& batch, const DataShape& shape, std::uint32_t first,
                        std::uint32_t last, at::Device device) {
  BatchTensors tensors = raw_tensors_of(batch, shape, first, last);
  if (!device.is_cpu())
    for_each_tensor(tensors, [&](at::Tensor& tensor) { tensor = tensor.to(device); });
  tensors.prepare();
  return tensors;
}

}  // namespace scavenger
