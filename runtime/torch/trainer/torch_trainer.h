// The trainer that is implemented with LibTorch. This header does not include LibTorch, so that
// files that only use a trainer compile quickly.
#pragma once

#include <cstdint>
#include <functional>
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

// Returns the place of the model of worker `index`. `kAutomatic` means a GPU if there is one; the
// workers are distributed over the GPUs of a machine. Throws ConfigError if the wanted device does
// not exist.
DevicePlace choose_device(Device wanted, std::uint32_t index);

// Returns the precision of products there, by its name in the configuration: the CPU has no tf32.
std::string products_text(Precision precision, const DevicePlace& place);

// The memory in which weights and gradients are given to the trainer.
enum class VectorHome { kHost, kDevice };

struct TorchTrainerOptions {
  ModelConfig model;
  LossConfig loss;
  DataShape data;
  ComputeConfig compute;
  std::uint64_t seed = 1;        // determines the initial weights and dropout
  std::uint32_t threads = 1;     // threads of a forward or backward pass
  std::uint32_t beam_width = 0;  // evaluations also write sequences, for BLEU; 0: they do not
  DevicePlace place;
  VectorHome vectors = VectorHome::kHost;
  // Of weights and gradients between the host and a GPU.
  WirePrecision transport = WirePrecision::kFloat32;
  std::function<void(const std::string&)> say = [](const std::string&) {};   // for the log
  std::function<void(const std::string&)> tell = [](const std::string&) {};  // for the user
};

// Makes a trainer. Call it on the thread that will train. Sets the number of compute threads of the
// whole process, lets the process keep the memory that it frees, and makes the calling thread and
// its compute threads treat denormal numbers as zero. Throws ConfigError if the model or the loss
// does not fit the data.
std::unique_ptr<Trainer> make_torch_trainer(const TorchTrainerOptions& options);

// Sets the number of compute threads for the thread that trains, since the cores are divided anew
// when workers come and go.
void use_torch_threads(std::uint32_t threads);

// Does the work on each compute thread at once: InParallel of the thread that trains. Does it on
// this thread alone if LibTorch computes with other threads than OpenMP's.
void on_torch_threads(const std::function<void()>& work);

}  // namespace scavenger
