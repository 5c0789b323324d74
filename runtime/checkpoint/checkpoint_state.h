// state.json: the part of a checkpoint that is no tensor.
#pragma once

#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/safetensors/safetensors.h"

namespace scavenger {

// It names tensors and optimizer slots in their order; shapes and values are in the safetensors
// files.
std::string encode_state(const Checkpoint& checkpoint);

// Returns the checkpoint with all layouts and sizes set, and zeros for weights, buffers and slots.
// Throws CheckpointError, with the place `where`, if encode_state() cannot have written the text,
// or if it does not fit `weights`, the content of weights.safetensors.
Checkpoint decode_state(const std::string& text, const SafetensorsContent& weights,
                        const std::string& where);

}  // namespace scavenger
