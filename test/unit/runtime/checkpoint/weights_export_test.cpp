// Tensors of any type in a vector of floats, and the file that a Python user gets.
#include "runtime/checkpoint/weights_export.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/checkpoint/carried_tensor.h"
#include "test/support/temporary_folder.h"

namespace scavenger {
namespace {

template <typename T>
std::vector<float> packed(const std::vector<T>& values, ElementType type) {
  const auto shape = carried_shape({static_cast<std::int64_t>(values.size())}, type);
  std::vector<float> numbers(static_cast<std::size_t>(shape[0] * shape[1]));
  pack_bytes(std::as_bytes(std::span(values)), type, numbers);
  return numbers;
}

template <typename T>
std::vector<T> there_and_back(const std::vector<T>& values, ElementType type) {
  std::vector<T> result(values.size());
  unpack_bytes(packed(values, type), type, std::as_writable_bytes(std::span(result)));
  return result;
}

Checkpoint with_counter(std::int64_t count) {
  Checkpoint checkpoint;
  checkpoint.parameters.add("bn.weight", {2});
  checkpoint.weights.assign(checkpoint.parameters.flat_size(), 0.0f);
  checkpoint.weights[1] = 1.5f;
  checkpoint.buffers.add(carried_name("bn.num_batches_tracked", ElementType::kI64),
                         carried_shape({}, ElementType::kI64));
  checkpoint.buffers.add(kFrozenMark, {16});
  checkpoint.buffer_values.assign(checkpoint.buffers.flat_size(), 0.0f);
  pack_bytes(std::as_bytes(std::span(&count, 1)), ElementType::kI64,
             std::span(checkpoint.buffer_values).first(4));
  return checkpoint;
}

}  // namespace

TEST_CASE("Every bit of integers, doubles and bytes survives being carried in floats") {
  const std::vector<std::int64_t> integers = {0, -1, 1, (std::int64_t{1} << 53) + 1, INT64_MIN};
  const std::vector<double> doubles = {0.1, -1e300, 5e-324};
  const std::vector<std::uint8_t> bytes = {0, 1, 255};

  CHECK(there_and_back(integers, ElementType::kI64) == integers);
  CHECK(there_and_back(doubles, ElementType::kF64) == doubles);
  CHECK(there_and_back(bytes, ElementType::kU8) == bytes);
}

TEST_CASE("A carried tensor is known by its name, and nothing else is") {
  const auto carried = carried_by("bn.num_batches_tracked:I64", {3, 4});

  REQUIRE(carried);
  CHECK(carried->name == "bn.num_batches_tracked");
  CHECK(carried->type == ElementType::kI64);
  CHECK(carried->shape == std::vector<std::int64_t>{3});
  CHECK_FALSE(carried_by("bn.weight", {3, 4}));
  CHECK_FALSE(carried_by("odd:I64", {3}));
  CHECK_FALSE(carried_by(kFrozenMark, {16}));
}

TEST_CASE("An exported file has each tensor in its own type, and frozen ones from their file") {
  const TemporaryFolder folder;
  const auto start = folder.path() / "start.safetensors";
  const auto file = folder.path() / "out.safetensors";
  Checkpoint pretrained;
  for (const char* name : {"stem.weight", "bn.weight", "fc.weight"})
    pretrained.parameters.add(name, {2});
  pretrained.weights.assign(pretrained.parameters.flat_size(), 0.25f);
  export_safetensors(pretrained, {}, start);

  export_safetensors(with_counter(70000), {start, {"stem.*", "bn.*"}}, file);

  const SafetensorsFile exported(file);
  const auto& content = exported.content();
  REQUIRE(content.tensors.size() == 3);
  const TensorEntry* const counter = content.find("bn.num_batches_tracked");
  REQUIRE(counter != nullptr);
  CHECK(counter->type == ElementType::kI64);
  CHECK(counter->shape.empty());
  std::int64_t count = 0;
  std::memcpy(&count, counter->bytes.data(), sizeof(count));
  CHECK(count == 70000);
  std::array<float, 2> weights{};
  std::memcpy(weights.data(), content.find("bn.weight")->bytes.data(), sizeof(weights));
  CHECK(weights[1] == 1.5f);  // the trained one
  CHECK(content.find("stem.weight") != nullptr);
}

}  // namespace scavenger
