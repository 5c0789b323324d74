// Exports a trained TorchScript module for Python.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/checkpoint.h"

namespace scavenger {

// Writes the module of the file `module` to `destination`, with the checkpoint's tensors instead of
// its own. Throws ConfigError if the module does not have all of them.
void export_torchscript(const std::filesystem::path& module, const Checkpoint& checkpoint,
                        const std::filesystem::path& destination);

}  // namespace scavenger
