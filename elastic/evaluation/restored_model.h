// A job's model as a checkpoint has it, in this process, to be evaluated and asked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "elastic/events/event.h"
#include "ps/core/float_buffer.h"
#include "runtime/checkpoint/checkpoint_store.h"
#include "runtime/config/job_config.h"
#include "runtime/data/data_set.h"
#include "runtime/training/trainer.h"

namespace scavenger::elastic {

// Makes what computes: for this configuration and shape of data, with so many threads.
using MakeTrainer = std::function<std::unique_ptr<Trainer>(
    const JobConfig& config, const DataShape& shape, std::uint32_t threads)>;

// Thread: the one that made it.
class RestoredModel final {
 public:
  // With the configuration that the checkpoint was trained with. `threads` computes; 0: as many as
  // a worker of the job has on this machine. Opens the training data if the checkpoint, of an
  // older version, does not know their shape. Throws ConfigError, DataError and CheckpointError.
  RestoredModel(LoadedCheckpoint checkpoint, std::uint32_t threads, const MakeTrainer& make);

  const JobConfig& config() const { return config_; }
  const DataShape& shape() const { return shape_; }
  std::uint64_t iteration() const { return checkpoint_.content.iteration; }
  const std::filesystem::path& folder() const { return checkpoint_.folder; }
  Trainer& trainer() { return *trainer_; }

  // All metrics of the job on one of its splits. The samples are added up in the parts and batches
  // of the K workers that the checkpoint's process of scavenger-train began with, so where K and B
  // are still those, the numbers are those of the job's own evaluation, bit by bit.
  fact::Evaluation evaluate(Split split);

 private:
  LoadedCheckpoint checkpoint_;
  JobConfig config_;
  DataShape shape_;
  ps::FloatBuffer weights_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace scavenger::elastic
