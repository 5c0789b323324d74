// Makes batches for a model from a data set: looks up samples, scales, normalises, augments and
// pads them.
//
// The content of a batch depends only on its positions and the seed, so it is the same for any K.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/data/batch_place.h"
#include "runtime/data/data_set.h"
#include "runtime/data/sample_order.h"
#include "runtime/data/sample_transform.h"
#include "runtime/training/batch.h"

namespace scavenger {

// Thread: one thread at a time; several assemblers may share a data set, which must outlive them.
class BatchAssembler final {
 public:
  // Positions refer to the job's sample order. Samples are augmented as configured. If
  // `leaves_images_raw`, batches of images have raw_images, and the trainer prepares them.
  static BatchAssembler for_training(const DataSet& data, const DataConfig& config,
                                     std::uint64_t seed, bool leaves_images_raw = false);
  // Positions are indices into the data set. Samples are not augmented.
  static BatchAssembler for_evaluation(const DataSet& data, const DataConfig& config);

  // Fills `batch` with the samples of `place`, which for evaluation must end within the data set.
  // Allocates only if the batch's buffers are too small.
  void assemble(const BatchPlace& place, Batch& batch);

 private:
  BatchAssembler(const DataSet& data, const DataConfig& config);

  SampleDraw draw(std::uint64_t position);
  void assemble_numbers(const BatchPlace& place, Batch& batch);
  void assemble_features(const BatchPlace& place, Batch& batch);
  void begin_raw_images(std::uint32_t size, RawImages& images) const;
  void add_raw_image(const SampleDraw& sample, std::uint32_t place, RawImages& images) const;
  void write_features(const SampleDraw& sample, float* destination);
  void write_targets(std::uint32_t index, std::uint32_t place, Batch& batch) const;
  void assemble_sequences(const BatchPlace& place, Batch& batch);
  std::uint64_t sequence_start(std::uint64_t epoch);
  void assemble_pairs(const BatchPlace& place, Batch& batch);

  const DataSet* data_;
  bool is_numbers_;  // samples are numbers, which the trainer has a data set for
  std::optional<SampleTransform> transform_;  // for features
  AugmentConfig augment_;
  // Evaluation leaves these at their defaults.
  std::uint64_t seed_ = 0;
  bool augments_ = false;
  bool leaves_images_raw_ = false;
  std::optional<SampleOrder> order_;
  std::vector<SampleDraw> draws_;  // scratch
};

}  // namespace scavenger
