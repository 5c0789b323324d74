#include "runtime/data/batch_assembler.h"

#include <algorithm>
#include <cstddef>

#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger {

BatchAssembler::BatchAssembler(const DataSet& data, const DataConfig& config)
    : data_(&data), is_numbers_(is_python(config.train.format)), augment_(config.augment) {
  if (!is_numbers_ && data.shape().vocabulary == 0) transform_.emplace(data, config);
}

BatchAssembler BatchAssembler::for_training(const DataSet& data, const DataConfig& config,
                                            std::uint64_t seed, bool leaves_images_raw) {
  BatchAssembler assembler(data, config);
  assembler.leaves_images_raw_ =
      leaves_images_raw && assembler.transform_ && data.shape().sample_shape.size() == 3;
  assembler.seed_ = seed;
  assembler.augments_ = config.augment.flip || config.augment.crop_padding > 0;
  if (data.shape().target == TargetKind::kSequence)
    assembler.order_.emplace(seed, data.size(), config.buckets, [&data](std::uint32_t index) {
      return static_cast<std::uint32_t>(data.source_tokens(index).size() +
                                        data.target_tokens(index).size());
    });
  else
    assembler.order_.emplace(seed, data.size());
  return assembler;
}

BatchAssembler BatchAssembler::for_evaluation(const DataSet& data, const DataConfig& config) {
  return BatchAssembler(data, config);
}

void BatchAssembler::assemble(const BatchPlace& place, Batch& batch) {
  SCAVENGER_CHECK(order_ || place.first + place.size <= data_->size());
  batch.first_position = place.first;
  batch.size = place.size;
  batch.loss_terms = 1.0;
  if (is_numbers_)
    assemble_numbers(place, batch);
  else if (data_->shape().vocabulary == 0)
    assemble_features(place, batch);
  else if (data_->shape().target == TargetKind::kNextTokens)
    assemble_sequences(place, batch);
  else
    assemble_pairs(place, batch);
}

SampleDraw BatchAssembler::draw(std::uint64_t position) {
  if (order_) return order_->at(position);
  return {.epoch = 0, .index = static_cast<std::uint32_t>(position)};
}

// ---- Numbers of samples. ----

void BatchAssembler::assemble_numbers(const BatchPlace& place, Batch& batch) {
  batch.sample_shape = {1};
  batch.tokens.resize(place.size);
  for (std::uint32_t i = 0; i < place.size; ++i)
    batch.tokens[i] = data_->label(draw(place.first + i).index);
}

// ---- Features. ----

void BatchAssembler::assemble_features(const BatchPlace& place, Batch& batch) {
  const DataShape& shape = data_->shape();
  const std::uint64_t elements = data_->elements_per_sample();
  batch.sample_shape = shape.sample_shape;
  if (leaves_images_raw_)
    begin_raw_images(place.size, batch.raw_images);
  else
    batch.features.resize(place.size * elements);
  batch.target_shape = shape.target_shape;
  if (shape.target == TargetKind::kLabel) {
    batch.labels.resize(place.size);
  } else {
    batch.values.resize(place.size * data_->values_per_sample());
    batch.loss_terms = static_cast<double>(data_->values_per_sample());
  }
  float* destination = batch.features.data();  // null if images are left raw
  SampleDraw next = place.size > 0 ? draw(place.first) : SampleDraw{};
  for (std::uint32_t i = 0; i < place.size; ++i) {
    const SampleDraw current = next;
    if (i + 1 < place.size) {
      next = draw(place.first + i + 1);
      data_->prefetch(next.index);  // samples are scattered over the memory
    }
    if (leaves_images_raw_)
      add_raw_image(current, i, batch.raw_images);
    else
      write_features(current, destination + i * elements);
    write_targets(current.index, i, batch);
  }
}

void BatchAssembler::begin_raw_images(std::uint32_t size, RawImages& images) const {
  const std::uint64_t elements = size * data_->elements_per_sample();
  if (data_->feature_type() == FeatureType::kUint8)
    images.bytes.resize(elements);
  else
    images.floats.resize(elements);
  images.changes.resize(static_cast<std::size_t>(size) * kNumbersOfChange);
  images.padding = augment_.crop_padding;
  images.channels = transform_->channels();
}

void BatchAssembler::add_raw_image(const SampleDraw& sample, std::uint32_t place,
                                   RawImages& images) const {
  const auto first = static_cast<std::ptrdiff_t>(place * data_->elements_per_sample());
  if (data_->feature_type() == FeatureType::kUint8)
    std::ranges::copy(data_->bytes(sample.index), images.bytes.begin() + first);
  else
    std::ranges::copy(data_->floats(sample.index), images.floats.begin() + first);
  const Augmentation change = draw_augmentation(augment_, seed_, sample.epoch, sample.index);
  const std::int32_t numbers[] = {static_cast<std::int32_t>(change.top),
                                  static_cast<std::int32_t>(change.left), change.flip ? 1 : 0};
  std::ranges::copy(numbers, images.changes.begin() + std::ptrdiff_t{place} * kNumbersOfChange);
}

void BatchAssembler::write_features(const SampleDraw& sample, float* destination) {
  if (augments_)
    transform_->write_augmented(
        sample.index, draw_augmentation(augment_, seed_, sample.epoch, sample.index), destination);
  else
    transform_->write(sample.index, destination);
}

void BatchAssembler::write_targets(std::uint32_t index, std::uint32_t place, Batch& batch) const {
  if (data_->shape().target == TargetKind::kLabel) {
    batch.labels[place] = data_->label(index);
    return;
  }
  const auto values = data_->values(index);
  std::ranges::copy(values,
                    batch.values.begin() + static_cast<std::ptrdiff_t>(place * values.size()));
}

// ---- Running text. ----

// Returns the token at which the first sequence starts. Each epoch of training cuts the text at
// other places, so that the words at the borders of sequences vary.
std::uint64_t BatchAssembler::sequence_start(std::uint64_t epoch) {
  const auto length = static_cast<std::uint64_t>(data_->shape().sample_shape[0]);
  return order_ ? RandomStream(seed_, "sequence start", {epoch}).below(length) : 0;
}

void BatchAssembler::assemble_sequences(const BatchPlace& place, Batch& batch) {
  const auto length = static_cast<std::uint64_t>(data_->shape().sample_shape[0]);
  batch.sample_shape = batch.target_shape = data_->shape().sample_shape;
  batch.tokens.resize(place.size * length);
  batch.labels.resize(place.size * length);
  batch.loss_terms = static_cast<double>(length);
  auto input = batch.tokens.begin();
  auto target = batch.labels.begin();
  for (std::uint32_t i = 0; i < place.size; ++i) {
    const SampleDraw sample = draw(place.first + i);
    const std::uint64_t first = sequence_start(sample.epoch) + sample.index * length;
    const auto text = data_->running_tokens().subspan(first, length + 1);
    input = std::ranges::copy(text.first(length), input).out;
    target = std::ranges::copy(text.last(length), target).out;
  }
}

// ---- Pairs of lines. ----

namespace {

// Copies the tokens of all samples, each padded to the longest.
template <typename TokensOf>
void pad(const std::vector<SampleDraw>& samples, const TokensOf& tokens_of,
         std::vector<std::int64_t>& shape, std::vector<std::int64_t>& tokens) {
  std::size_t length = 0;
  for (const SampleDraw& sample : samples)
    length = std::max(length, tokens_of(sample.index).size());
  shape = {static_cast<std::int64_t>(length)};
  tokens.assign(samples.size() * length, kPaddingToken);
  for (std::size_t i = 0; i < samples.size(); ++i)
    std::ranges::copy(tokens_of(samples[i].index),
                      tokens.begin() + static_cast<std::ptrdiff_t>(i * length));
}

}  // namespace

void BatchAssembler::assemble_pairs(const BatchPlace& place, Batch& batch) {
  std::uint64_t predicted = 0;  // predictions in the global batch
  for (std::uint32_t i = 0; i < place.global_size; ++i)
    predicted += data_->target_tokens(draw(place.global_first + i).index).size() - 1;
  if (place.global_size > 0) batch.loss_terms = static_cast<double>(predicted) / place.global_size;
  draws_.clear();
  for (std::uint32_t i = 0; i < place.size; ++i) draws_.push_back(draw(place.first + i));
  pad(
      draws_, [this](std::uint32_t index) { return data_->source_tokens(index); },
      batch.sample_shape, batch.tokens);
  pad(
      draws_, [this](std::uint32_t index) { return data_->target_tokens(index); },
      batch.target_shape, batch.labels);
}

}  // namespace scavenger
