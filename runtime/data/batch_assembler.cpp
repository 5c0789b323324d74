#include "runtime/data/batch_assembler.h"

#include "runtime/base/check.h"

namespace scavenger {

BatchAssembler::BatchAssembler(const DataSet& data, const DataConfig& config)
    : data_(&data), transform_(data, config), augment_(config.augment) {}

BatchAssembler BatchAssembler::for_training(const DataSet& data, const DataConfig& config,
                                            std::uint64_t seed) {
  BatchAssembler assembler(data, config);
  assembler.seed_ = seed;
  assembler.order_.emplace(seed, data.size());
  return assembler;
}

BatchAssembler BatchAssembler::for_evaluation(const DataSet& data, const DataConfig& config) {
  return BatchAssembler(data, config);
}

void BatchAssembler::assemble(std::uint64_t first_position, std::uint32_t size, Batch& batch) {
  SCAVENGER_CHECK(order_ || first_position + size <= data_->size());
  batch.first_position = first_position;
  batch.size = size;
  batch.sample_shape = data_->sample_shape();
  batch.features.resize(size * data_->elements_per_sample());
  batch.labels.resize(size);
  float* destination = batch.features.data();
  for (std::uint32_t i = 0; i < size; ++i, destination += data_->elements_per_sample())
    batch.labels[i] = data_->label(write_sample(first_position + i, destination));
}

std::uint32_t BatchAssembler::write_sample(std::uint64_t position, float* destination) {
  if (!order_) {
    const auto index = static_cast<std::uint32_t>(position);
    transform_.write(index, destination);
    return index;
  }
  const SampleDraw draw = order_->at(position);
  if (augment_.flip || augment_.crop_padding > 0)
    transform_.write_augmented(
        draw.index, draw_augmentation(augment_, seed_, draw.epoch, draw.index), destination);
  else
    transform_.write(draw.index, destination);
  return draw.index;
}

}  // namespace scavenger
