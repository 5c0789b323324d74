// The trainer that LibTorch computes for. This header includes nothing of LibTorch, so
// that whoever only uses a trainer compiles quickly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/config/job_config.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// The CPU, or one of this machine's GPUs.
struct DevicePlace {
  bool is_gpu = false;
  int gpu = 0;
  std::string text() const { return is_gpu ? "GPU " + std::to_string(gpu) : "CPU"; }
};

// Where the model of worker `index` lives: auto takes a GPU where there is one, and workers take
// turns among a machine's. Throws ConfigError where there is none of what is asked for.
DevicePlace choose_device(Device wanted, std::uint32_t index);

// In whose memory weights and gradients are given to the trainer.
enum class VectorHome { kHost, kDevice };

struct TorchTrainerOptions {
  ModelConfig model;
  LossConfig loss;
  DataShape data;
  ComputeConfig compute;
  std::uint64_t seed = 1;        // decides the initial weights and dropout
  std::uint32_t threads = 1;     // that a forward or backward pass may use
  std::uint32_t beam_width = 0;  // evaluations also write sequences, for BLEU; 0: they do not
  DevicePlace place;
  VectorHome vectors = VectorHome::kHost;
};

// Sets the number of compute threads of the whole process, lets the process keep the memory that it
// frees, and makes the calling thread and its compute threads treat denormal numbers as zero: call
// it on the thread that will train. Throws ConfigError where the model or the loss does not fit the
// data.
std::unique_ptr<Trainer> make_torch_trainer(const TorchTrainerOptions& options);

// The number of compute threads from now on, for the thread that trains: cores are shared out anew
// where workers come and go.
void use_torch_threads(std::uint32_t threads);

}  // namespace scavenger
