#include "runtime/checkpoint/layout_difference.h"

#include <catch2/catch.hpp>
#include <string>

#include "runtime/base/error.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"

namespace scavenger {
namespace {

TensorLayout layout_of(
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& tensors) {
  TensorLayout layout;
  for (const auto& [name, shape] : tensors) layout.add(name, shape);
  return layout;
}

}  // namespace

TEST_CASE("Equal layouts do not differ") {
  const TensorLayout layout = layout_of({{"a", {2, 3}}, {"b", {}}});

  CHECK(compare_layouts(layout, layout).empty());
}

TEST_CASE("Missing, extra and mis-shaped tensors are told apart by name") {
  const TensorLayout expected = layout_of({{"a", {2}}, {"b", {3}}, {"c", {4}}});
  const TensorLayout found = layout_of({{"b", {3, 1}}, {"c", {4}}, {"d", {5}}});

  const LayoutDifference difference = compare_layouts(expected, found);

  CHECK(difference.missing == std::vector<std::string>{"a"});
  CHECK(difference.extra == std::vector<std::string>{"d"});
  CHECK(difference.misshaped == std::vector<std::string>{"b is [3, 1] and should be [3]"});
  CHECK(describe(difference) ==
        "missing: a; not in this model: d; of another shape: b is [3, 1] and should be [3]");
}

TEST_CASE("The same tensors in another order differ, since their places do") {
  const LayoutDifference difference =
      compare_layouts(layout_of({{"a", {2}}, {"b", {2}}}), layout_of({{"b", {2}}, {"a", {2}}}));

  CHECK(difference.reordered);
  CHECK_FALSE(difference.empty());
}

TEST_CASE("A description of many tensors stays short") {
  TensorLayout many;
  for (int i = 0; i < 1000; ++i) many.add("layer" + std::to_string(i), {1});

  const std::string text = describe(compare_layouts(many, {}));

  CHECK(text == "missing: layer0, layer1, layer2, layer3, layer4 and 995 more");
}

TEST_CASE("A checkpoint of the same model is accepted, and one of another model named") {
  const Checkpoint checkpoint = sample_checkpoint();
  TensorLayout other = checkpoint.parameters;
  other.add("head.weight", {10, 3});

  CHECK_NOTHROW(
      require_same_model(checkpoint.parameters, checkpoint.buffers, checkpoint, "runs/a"));
  CHECK_THROWS_AS(require_same_model(other, checkpoint.buffers, checkpoint, "runs/a"),
                  CheckpointError);
  CHECK_THROWS_WITH(require_same_model(other, checkpoint.buffers, checkpoint, "runs/a"),
                    Catch::Contains("runs/a") && Catch::Contains("another model") &&
                        Catch::Contains("missing: head.weight"));
  CHECK_THROWS_WITH(require_same_model(checkpoint.parameters, {}, checkpoint, "runs/a"),
                    Catch::Contains("buffers not in this model: norm.running_mean"));
}

}  // namespace scavenger
