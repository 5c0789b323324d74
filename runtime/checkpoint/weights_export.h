// A checkpoint's weights as one safetensors file, as a Python user wants them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"

namespace scavenger {

// What was not trained and is in no checkpoint, but in the file that the job started from.
struct FrozenWeights {
  std::filesystem::path file;         // safetensors; empty: nothing was frozen
  std::vector<std::string> patterns;  // of names (runtime/base/pattern.h)
};

// Parameters and buffers under their names, those that are not floats (carried_tensor.h) in their
// own types.
void export_safetensors(const Checkpoint& checkpoint, const FrozenWeights& frozen,
                        const std::filesystem::path& destination);

}  // namespace scavenger
