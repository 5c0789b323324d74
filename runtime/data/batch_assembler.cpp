#include "runtime/data/batch_assembler.h"

#include "runtime/base/check.h"

namespace scavenger {

BatchAssembler::BatchAssembler(const DataSet& data, const DataConfig& config)
    : data_(&data), transform_(data, config), augment_(config.augment) {}

BatchAssembler BatchAssembler::for_training(const DataSet& data, const DataConfig& config,
                                            std::uint64_t seed) {
  BatchAssembler assembler(data, config);
  assembler.seed_ = seed;
  assembler.augments_ = config.augment.flip || config.augment.crop_padding > 0;
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
  SampleDraw next = size > 0 ? draw(first_position) : SampleDraw{};
  for (std::uint32_t i = 0; i < size; ++i, destination += data_->elements_per_sample()) {
    const SampleDraw current = next;
    if (i + 1 < size) {
      next = draw(first_position + i + 1);
      data_->prefetch(next.index);  // samples are scattered over memory
    }
    write_sample(current, destination);
    batch.labels[i] = data_->label(current.index);
  }
}

SampleDraw BatchAssembler::draw(std::uint64_t position) {
  if (order_) return order_->at(position);
  return {.epoch = 0, .index = static_cast<std::uint32_t>(position)};
}

void BatchAssembler::write_sample(const SampleDraw& sample, float* destination) {
  if (augments_)
    transform_.write_augmented(
        sample.index, draw_augmentation(augment_, seed_, sample.epoch, sample.index), destination);
  else
    transform_.write(sample.index, destination);
}

}  // namespace scavenger
