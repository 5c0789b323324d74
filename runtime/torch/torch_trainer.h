// The trainer that LibTorch computes for. The only header of this folder that others may include:
// it brings in no LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// The CPU, or one of this machine's GPUs.
struct DevicePlace {
  bool is_gpu = false;
  int gpu = 0;
  std::string text() const { return is_gpu ? "GPU " + std::to_string(gpu) : "CPU"; }
};

// Where the model of a process lives, of those that share this machine: auto takes a GPU where
// there is one. Throws InputError where there is none of what is asked for.
DevicePlace choose_device(Device wanted, std::uint32_t place_on_host);

// In whose memory weights and gradients are given to the trainer.
enum class VectorHome { kHost, kDevice };

struct TorchTrainerOptions {
  ModelConfig model;
  std::vector<std::int64_t> sample_shape;  // of one sample: {channels, height, width} or {features}
  std::uint32_t classes = 0;
  std::uint64_t seed = 1;     // decides the initial weights
  std::uint32_t threads = 1;  // that a forward or backward pass may use
  DevicePlace place;
  VectorHome vectors = VectorHome::kHost;
};

// Sets the number of compute threads of the whole process, and makes the
// calling thread and its compute threads treat denormal numbers as zero: call it on the thread that
// will train. Throws ConfigError where the model does not fit the shape of the samples.
std::unique_ptr<Trainer> make_torch_trainer(const TorchTrainerOptions& options);

}  // namespace scavenger
