// The trainer that LibTorch computes for. The only header of this folder that others may include:
// it brings in no LibTorch.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/trainer.h"

namespace scavenger {

struct TorchTrainerOptions {
  ModelConfig model;
  LossConfig loss;
  DataShape data;
  ComputeConfig compute;
  std::uint64_t seed = 1;        // decides the initial weights and dropout
  std::uint32_t threads = 1;     // that a forward or backward pass may use
  std::uint32_t beam_width = 0;  // evaluations also write sequences, for BLEU; 0: they do not
};

// A trainer on the CPU. Sets the number of compute threads of the whole process, and makes the
// calling thread and its compute threads treat denormal numbers as zero: call it on the thread that
// will train. Throws ConfigError where the model or the loss does not fit the data.
std::unique_ptr<Trainer> make_torch_trainer(const TorchTrainerOptions& options);

// The number of compute threads from now on, for the thread that trains: cores are shared out anew
// where workers come and go.
void use_torch_threads(std::uint32_t threads);

}  // namespace scavenger
