// The differences between the tensors of a checkpoint and those of a model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

struct LayoutDifference {
  std::vector<std::string> missing;    // expected but not found: "layers.0.weight"
  std::vector<std::string> extra;      // found but not expected
  std::vector<std::string> misshaped;  // "layers.0.weight is [2, 3] and should be [2, 4]"
  bool reordered = false;              // same tensors in another order, hence at other offsets

  bool empty() const { return missing.empty() && extra.empty() && misshaped.empty() && !reordered; }
};

LayoutDifference compare_layouts(const TensorLayout& expected, const TensorLayout& found);

// Returns "missing: a and b; not in this model: c", with a limited number of names of each kind.
std::string describe(const LayoutDifference& difference);

// Throws CheckpointError, which names the tensors, if the checkpoint is from another model. `where`
// is the checkpoint's folder.
void require_same_model(const TensorLayout& parameters, const TensorLayout& buffers,
                        const Checkpoint& checkpoint, const std::filesystem::path& where);

}  // namespace scavenger
