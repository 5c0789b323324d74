// A trained TorchScript module, on its way back to Python.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/checkpoint.h"

namespace scavenger {

// Writes the module of the file `module` to `destination`, with the checkpoint's tensors in place
// of those that it was trained from. Throws ConfigError where the module has not all of them.
void export_torchscript(const std::filesystem::path& module, const Checkpoint& checkpoint,
                        const std::filesystem::path& destination);

}  // namespace scavenger
