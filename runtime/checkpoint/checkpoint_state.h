// state.json: what a checkpoint holds beside tensors.
#pragma once

#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/safetensors/safetensors.h"

namespace scavenger {

// Names tensors and optimizer slots, in order; shapes and values are in the safetensors files.
std::string encode_state(const Checkpoint& checkpoint);

// The checkpoint with layouts and all sizes set, and zeros for weights, buffers and slots. Throws
// CheckpointError, with `where` as the place, where the text is not what encode_state() writes or
// does not fit `weights`, the content of weights.safetensors.
Checkpoint decode_state(const std::string& text, const SafetensorsContent& weights,
                        const std::string& where);

}  // namespace scavenger
