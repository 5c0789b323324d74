// The trainer that LibTorch computes for. The only header of this folder that others may include:
// it brings in no LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/training/trainer.h"

namespace scavenger {

struct TorchTrainerOptions {
  ModelConfig model;
  std::vector<std::int64_t> sample_shape;  // of one sample: {channels, height, width} or {features}
  std::uint32_t classes = 0;
  std::uint64_t seed = 1;     // decides the initial weights
  std::uint32_t threads = 1;  // that a forward or backward pass may use
};

// A trainer on the CPU. Sets the number of compute threads of the whole process, and makes the
// calling thread and its compute threads treat denormal numbers as zero: call it on the thread that
// will train. Throws ConfigError where the model does not fit the shape of the samples.
std::unique_ptr<Trainer> make_torch_trainer(const TorchTrainerOptions& options);

// The number of compute threads from now on, for the thread that trains: cores are shared out anew
// where workers come and go.
void use_torch_threads(std::uint32_t threads);

}  // namespace scavenger
