// Exports a checkpoint's weights as one safetensors file for use in Python.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"

namespace scavenger {

// Frozen weights, which are not in checkpoints but in the file that the job started from.
struct FrozenWeights {
  std::filesystem::path file;         // safetensors; empty: nothing was frozen
  std::vector<std::string> patterns;  // name patterns (runtime/checkpoint/pattern.h)
};

// Writes parameters and buffers under their names. Those that are not floats (carried_tensor.h) get
// their own types.
void export_safetensors(const Checkpoint& checkpoint, const FrozenWeights& frozen,
                        const std::filesystem::path& destination);

}  // namespace scavenger
