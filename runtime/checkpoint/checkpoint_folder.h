// A checkpoint as a folder of files that other programs can read, too
// (docs/design/checkpoint_format.md):
//
//   weights.safetensors    parameters and buffers under their names
//   optimizer.safetensors  "exp_avg/layers.0.weight", ...
//   state.json             everything else
//   manifest.json          sizes and SHA-256 of these
#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"

namespace scavenger {

inline constexpr const char* kWritingPrefix = ".writing_";
inline constexpr const char* kRemovingPrefix = ".removing_";

// Writes `folder` and forces it to disk. The complete folder appears in one step and replaces an
// existing one. Tensors are written without copies. Requires that the parent folder exists. Returns
// the bytes written. Throws SystemError, and removes what it has written. A crash may leave a
// folder beside `folder` whose name starts with kWritingPrefix or kRemovingPrefix.
std::uint64_t write_checkpoint(Disk& disk, const Checkpoint& checkpoint, bool is_best,
                               const std::filesystem::path& folder);

// Throws CheckpointError if a file is damaged, which the error names, or if the format is newer
// than this build's. Every flipped or missing byte is detected.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

}  // namespace scavenger
