// A checkpoint as a folder of files that other programs can read too (docs/checkpoint_format.md):
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

// Writes `folder`, whose parent must exist, and forces it to disk. It appears in one step,
// complete; one that is there already is replaced. Tensors are written from where they lie, with no
// copies. Returns the bytes written. Throws SystemError; nothing is then left behind, except what a
// crash leaves: a folder beside it whose name starts with kWritingPrefix or kRemovingPrefix.
std::uint64_t write_checkpoint(Disk& disk, const Checkpoint& checkpoint, bool is_best,
                               const std::filesystem::path& folder);

// Throws CheckpointError that names the file where one is damaged, or that says that the format
// is newer than this build's. No flipped or missing byte goes unnoticed.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

}  // namespace scavenger
