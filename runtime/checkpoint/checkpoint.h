// Everything in memory that a job needs to continue from an iteration boundary.
//
// Random streams are not part of it, since each is made again from the seed and its name
// (runtime/base/random.h); neither is the state of the data loader, which follows from `position`.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/checkpoint/flat_vector.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

// Increased whenever an older reader could misread what a newer writer has written
// (docs/design/checkpoint_format.md).
inline constexpr std::uint32_t kCheckpointFormatVersion = 1;

struct OptimizerState {
  std::uint64_t step_count = 0;
  // State vectors by name: "momentum"; or "exp_avg" and "exp_avg_sq"; or none. Each is flat, with
  // the layout of the parameters. Names are not empty and contain no '/'.
  std::map<std::string, FlatVector> slots;

  bool operator==(const OptimizerState&) const = default;
};

struct Checkpoint {
  std::uint32_t format_version = kCheckpointFormatVersion;
  std::uint64_t iteration = 0;  // iterations done
  std::uint64_t position = 0;   // samples consumed since the job's start, over all resumes
  std::uint64_t membership_epoch = 0;
  std::uint64_t seed = 0;
  nlohmann::json config = nlohmann::json::object();  // fully resolved
  std::string config_digest;                         // hexadecimal

  TensorLayout parameters;
  FlatVector weights;  // parameters.flat_size()
  OptimizerState optimizer;
  TensorLayout buffers;              // no name in common with parameters
  std::vector<float> buffer_values;  // buffers.flat_size()

  // The vocabularies of a model for text, one word per line; empty for other models.
  std::string vocabulary;
  std::string target_vocabulary;

  // Curves, best metric, elapsed seconds, cost so far and resizes, from which the reports continue.
  // Numbers in it must be finite, since JSON has no others.
  nlohmann::json history = nlohmann::json::object();

  std::string scavenger_version;
  std::string scavenger_commit;

  bool operator==(const Checkpoint&) const = default;
};

}  // namespace scavenger
