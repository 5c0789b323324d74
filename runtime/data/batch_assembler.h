// Makes batches for a model out of a data set: looks samples up, scales, normalises, augments.
//
// What a batch holds depends on its positions and the seed only, so it is the same for any K.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/data/data_set.h"
#include "runtime/data/sample_order.h"
#include "runtime/data/sample_transform.h"
#include "runtime/training/batch.h"

namespace scavenger {

// Thread: one thread at a time; several assemblers may share a data set, which must outlive them.
class BatchAssembler final {
 public:
  // Positions are those of the job's sample order; samples are augmented as the config says.
  static BatchAssembler for_training(const DataSet& data, const DataConfig& config,
                                     std::uint64_t seed);
  // Positions are indices into the data set, in its own order; nothing is augmented.
  static BatchAssembler for_evaluation(const DataSet& data, const DataConfig& config);

  // Fills `batch` with positions [first_position, first_position + size); for evaluation they must
  // be below the data set's size. Allocates only where the batch's buffers are too small.
  void assemble(std::uint64_t first_position, std::uint32_t size, Batch& batch);

 private:
  BatchAssembler(const DataSet& data, const DataConfig& config);

  SampleDraw draw(std::uint64_t position);
  void write_sample(const SampleDraw& sample, float* destination);

  const DataSet* data_;
  SampleTransform transform_;
  AugmentConfig augment_;
  // For evaluation, these three stay as they are here.
  std::uint64_t seed_ = 0;
  bool augments_ = false;
  std::optional<SampleOrder> order_;
};

}  // namespace scavenger
