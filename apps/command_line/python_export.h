// Writes a trained model in Python in a form that only Python can write.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/config/job_config.h"

namespace scavenger {

// Has the model's file make the model, and writes it with the checkpoint's tensors to
// `destination`: as "pytorch", a state_dict, or "onnx". Throws InputError that says what Python
// lacks.
void export_from_python(const std::filesystem::path& program_folder, const JobConfig& config,
                        const Checkpoint& checkpoint, const std::string& form,
                        const std::filesystem::path& destination);

}  // namespace scavenger
