// Whether a checkpoint belongs to a model, and if not, why not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

struct LayoutDifference {
  std::vector<std::string> missing;    // expected, not found: "layers.0.weight"
  std::vector<std::string> extra;      // found, not expected
  std::vector<std::string> misshaped;  // "layers.0.weight is [2, 3] and should be [2, 4]"
  bool reordered = false;              // the same tensors in another order, so at other offsets

  bool empty() const { return missing.empty() && extra.empty() && misshaped.empty() && !reordered; }
};

LayoutDifference compare_layouts(const TensorLayout& expected, const TensorLayout& found);

// "missing: a and b; not in this model: c", with at most a handful of names of each kind.
std::string describe(const LayoutDifference& difference);

// Throws CheckpointError that names the tensors where the checkpoint is from another model. `where`
// is the checkpoint's folder.
void require_same_model(const TensorLayout& parameters, const TensorLayout& buffers,
                        const Checkpoint& checkpoint, const std::filesystem::path& where);

}  // namespace scavenger
