#include "runtime/checkpoint/layout_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

using Shapes = std::map<std::string_view, const TensorPlace*>;

Shapes shapes_of(const TensorLayout& layout) {
  Shapes shapes;
  for (const TensorPlace& tensor : layout.tensors()) shapes.emplace(tensor.name, &tensor);
  return shapes;
}

void describe_kind(const char* kind, const std::vector<std::string>& tensors,
                   std::vector<std::string>& parts) {
  constexpr std::size_t kMostNames = 5;
  if (tensors.empty()) return;
  std::vector<std::string> shown = tensors;
  if (shown.size() > kMostNames) {
    shown.resize(kMostNames);
    shown.push_back(fmt::format("{} more", tensors.size() - kMostNames));
  }
  parts.push_back(fmt::format("{}: {}", kind, join_words(shown)));
}

}  // namespace

LayoutDifference compare_layouts(const TensorLayout& expected, const TensorLayout& found) {
  LayoutDifference difference;
  const Shapes expected_shapes = shapes_of(expected);
  const Shapes found_shapes = shapes_of(found);
  for (const TensorPlace& tensor : expected.tensors()) {
    const auto match = found_shapes.find(tensor.name);
    if (match == found_shapes.end()) {
      difference.missing.push_back(tensor.name);
    } else if (match->second->shape != tensor.shape) {
      difference.misshaped.push_back(fmt::format("{} is {} and should be {}", tensor.name,
                                                 match->second->shape, tensor.shape));
    }
  }
  for (const TensorPlace& tensor : found.tensors()) {
    if (!expected_shapes.contains(tensor.name)) difference.extra.push_back(tensor.name);
  }
  difference.reordered = difference.empty() && expected != found;
  return difference;
}

std::string describe(const LayoutDifference& difference) {
  std::vector<std::string> parts;
  describe_kind("missing", difference.missing, parts);
  describe_kind("not in this model", difference.extra, parts);
  describe_kind("of another shape", difference.misshaped, parts);
  if (difference.reordered) parts.emplace_back("the same tensors, in another order");
  return fmt::format("{}", fmt::join(parts, "; "));
}

void require_same_model(const TensorLayout& parameters, const TensorLayout& buffers,
                        const Checkpoint& checkpoint, const std::filesystem::path& where) {
  const auto require = [&](const char* kind, const LayoutDifference& difference) {
    if (difference.empty()) return;
    throw CheckpointError(
        {.what =
             fmt::format("the checkpoint is from another model; {} {}", kind, describe(difference)),
         .where = where.string(),
         .remedy = "resume with the model it was written by, or start a new run"});
  };
  require("parameters", compare_layouts(parameters, checkpoint.parameters));
  require("buffers", compare_layouts(buffers, checkpoint.buffers));
}

}  // namespace scavenger
