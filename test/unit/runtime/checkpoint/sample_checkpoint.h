// A small checkpoint with every kind of content, for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/checkpoint/checkpoint.h"

namespace scavenger {

// Gaps between tensors are zero, as in a job.
inline FlatVector random_flat(const TensorLayout& layout, RandomStream& random) {
  FlatVector flat(layout.flat_size(), 0.0F);
  for (const TensorPlace& tensor : layout.tensors()) {
    for (std::uint64_t i = 0; i < tensor.size; ++i) {
      flat[tensor.offset + i] = static_cast<float>(random.normal());
    }
  }
  return flat;
}

// Damages a file, for tests of what notices.
inline void write_in_place(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

inline Checkpoint sample_checkpoint(std::uint64_t iteration = 1234) {
  RandomStream random(iteration, "sample checkpoint");
  Checkpoint checkpoint;
  checkpoint.iteration = iteration;
  checkpoint.position = iteration * 64;
  checkpoint.membership_epoch = 3;
  checkpoint.seed = 0xffffffffffffffff;
  checkpoint.config = {{"name", "sample"}, {"optimizer", {{"learning_rate", 0.1}}}};
  checkpoint.config_digest = std::string(64, 'a');
  checkpoint.parameters.add("layers.0.weight", {3, 5});
  checkpoint.parameters.add("layers.0.bias", {3});
  checkpoint.parameters.add("scale", {});
  checkpoint.weights = random_flat(checkpoint.parameters, random);
  checkpoint.optimizer.step_count = iteration;
  checkpoint.optimizer.slots["exp_avg"] = random_flat(checkpoint.parameters, random);
  checkpoint.optimizer.slots["exp_avg_sq"] = random_flat(checkpoint.parameters, random);
  checkpoint.buffers.add("norm.running_mean", {4});
  const FlatVector buffers = random_flat(checkpoint.buffers, random);
  checkpoint.buffer_values.assign(buffers.begin(), buffers.end());
  checkpoint.history = {{"elapsed_seconds", 12.345678901234567}, {"test_accuracy", {0.5, 0.75}}};
  checkpoint.scavenger_version = "0.1.0";
  checkpoint.scavenger_commit = "1a2b3c4d5e6f";
  return checkpoint;
}

}  // namespace scavenger
