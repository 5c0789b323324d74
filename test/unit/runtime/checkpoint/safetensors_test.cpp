#include "runtime/safetensors/safetensors.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"

namespace scavenger {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// A file with this header and so many bytes of data.
std::string file_with(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(data_bytes, 'x');
}

std::string tensor(const std::string& name, const std::string& type, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

std::string error_of(const std::string& file) {
  try {
    parse_safetensors(bytes_of(file), "some/file.safetensors");
    return "no error";
  } catch (const CheckpointError& error) {
    return error.what();
  }
}

std::string sample_file() {
  const Checkpoint checkpoint = sample_checkpoint();
  std::vector<TensorSource> sources;
  append_sources(checkpoint.parameters, checkpoint.weights, "", sources);
  std::string file = safetensors_preamble(sources, {{"format", "pt"}});
  for (const TensorSource& source : sources) {
    file.append(reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size());
  }
  return file;
}

}  // namespace

TEST_CASE("Tensors are found again with names, shapes, bytes and metadata") {
  const Checkpoint checkpoint = sample_checkpoint();
  const std::string file = sample_file();

  const SafetensorsContent content = parse_safetensors(bytes_of(file), "file");

  CHECK(content.metadata == std::map<std::string, std::string>{{"format", "pt"}});
  REQUIRE(content.tensors.size() == checkpoint.parameters.tensors().size());
  for (const TensorPlace& place : checkpoint.parameters.tensors()) {
    const TensorEntry* found = content.find(place.name);
    REQUIRE(found != nullptr);
    CHECK(found->type == ElementType::kF32);
    CHECK(found->shape == place.shape);
    CHECK(std::memcmp(found->bytes.data(), checkpoint.weights.data() + place.offset,
                      place.size * sizeof(float)) == 0);
  }
  CHECK(content.find("absent") == nullptr);
}

TEST_CASE("The data begin at a multiple of 64 bytes, and the header ends in spaces") {
  for (std::size_t name_length = 1; name_length < 70; ++name_length) {
    const float value = 1.0F;
    const std::vector<TensorSource> sources = {{.name = std::string(name_length, 'n'),
                                                .type = ElementType::kF32,
                                                .shape = {1},
                                                .bytes = std::as_bytes(std::span(&value, 1))}};

    const std::string preamble = safetensors_preamble(sources, {});

    CHECK(preamble.size() % 64 == 0);
    CHECK((preamble.back() == ' ' || preamble.back() == '}'));
  }
}

TEST_CASE("Every element type of the format is read, with its size") {
  const auto [name, bytes] = GENERATE(table<std::string, int>({{"BOOL", 1},
                                                               {"U8", 1},
                                                               {"I8", 1},
                                                               {"F8_E4M3", 1},
                                                               {"F8_E5M2", 1},
                                                               {"U16", 2},
                                                               {"I16", 2},
                                                               {"F16", 2},
                                                               {"BF16", 2},
                                                               {"U32", 4},
                                                               {"I32", 4},
                                                               {"F32", 4},
                                                               {"U64", 8},
                                                               {"I64", 8},
                                                               {"F64", 8}}));
  const int total = 6 * bytes;
  const std::string extent = "[0," + std::to_string(total) + "]";

  const std::string file =
      file_with("{" + tensor("a", name, "[2,3]", extent) + "}", static_cast<std::size_t>(total));
  const SafetensorsContent content = parse_safetensors(bytes_of(file), "file");

  CHECK(element_type_name(content.tensors.at(0).type) == name);
  CHECK(content.tensors.at(0).bytes.size() == static_cast<std::size_t>(total));
}

TEST_CASE("Tensors without elements and scalars are read") {
  const std::string file = file_with("{" + tensor("b", "F32", "[]", "[0,4]") + "," +
                                         tensor("a", "F32", "[0,7]", "[0,0]") + "," +
                                         tensor("z", "U8", "[0]", "[4,4]") + "}",
                                     4);

  const SafetensorsContent content = parse_safetensors(bytes_of(file), "file");

  CHECK(content.find("a")->bytes.empty());
  CHECK(content.find("b")->shape.empty());
}

TEST_CASE("What is wrong with a file is said, with file and tensor") {
  const std::string good = tensor("a", "F32", "[1]", "[0,4]");
  const std::string comma = ",";
  struct Case {
    std::string file;
    std::string complaint;
  };
  const auto wrong = GENERATE_COPY(values<Case>({
      {"", "shorter than a header's length"},
      {std::string("\x10\0\0\0\0\0\0\0{}", 10), "ends within its header"},
      {std::string(8, '\xff') + "{}", "more than the limit"},
      {file_with("", 0), "not a JSON object"},
      {file_with(" {}", 0), "not a JSON object"},
      {file_with("[]", 0), "not a JSON object"},
      {file_with("{]", 0), "not valid JSON"},
      {file_with("{\"\xff\":1}", 0), "not valid JSON"},
      {file_with("{\"a\":[[[[[[1]]]]]]}", 0), "nested too deeply"},
      {file_with("{" + good + comma + good + "}", 4), "tensor \"a\" appears twice"},
      {file_with(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
       "\"dtype\" appears twice"},
      {file_with(R"({"a":1})", 0), "tensor \"a\" does not have exactly"},
      {file_with(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "does not have exactly"},
      {file_with("{" + tensor("a", "F33", "[1]", "[0,4]") + "}", 4), "unknown dtype \"F33\""},
      {file_with(R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", 4), "dtype that is not"},
      {file_with("{" + tensor("a", "F32", "1", "[0,4]") + "}", 4), "shape that is not a list"},
      {file_with("{" + tensor("a", "F32", "[-1]", "[0,4]") + "}", 4), "dimension that is not"},
      {file_with("{" + tensor("a", "F32", "[1.0]", "[0,4]") + "}", 4), "dimension that is not"},
      {file_with("{" + tensor("a", "F32", "[18446744073709551615]", "[0,4]") + "}", 4),
       "dimension that is not"},
      {file_with("{" + tensor("a", "F32", "[4611686018427387904,4]", "[0,0]") + "}", 0),
       "tensor \"a\" has 0 bytes of data"},
      {file_with("{" + tensor("a", "F32", "[2]", "[0,4]") + "}", 4), "which is not F32 x [2]"},
      {file_with("{" + tensor("a", "F32", "[1]", "[0]") + "}", 4), "not two whole numbers"},
      {file_with("{" + tensor("a", "F32", "[1]", "[0,-4]") + "}", 4), "not two whole numbers"},
      {file_with("{" + tensor("a", "F32", "[1]", "[4,0]") + "}", 4), "ends before it begins"},
      {file_with("{" + good + "}", 3), "the file is cut off"},
      {file_with("{" + good + "}", 5), "1 bytes after the last tensor"},
      {file_with("{" + tensor("a", "F32", "[1]", "[4,8]") + "}", 8), "\"a\" comes after a hole"},
      {file_with("{" + good + "," + tensor("b", "F32", "[1]", "[2,6]") + "}", 6),
       "\"b\" overlaps the one before it"},
      {file_with(R"({"__metadata__":1})", 0), "__metadata__ is not a JSON object"},
      {file_with(R"({"__metadata__":{"a":1}})", 0), "__metadata__ holds something"},
  }));

  CHECK_THAT(error_of(wrong.file),
             Catch::StartsWith("some/file.safetensors: ") && Catch::Contains(wrong.complaint));
}

TEST_CASE("A name from a stranger's file cannot flood or control the terminal") {
  const std::string error =
      error_of(file_with("{\"\\u001b[2J" + std::string(100000, 'n') + "\":1}", 0));

  CHECK(error.size() < 1000);
  CHECK(error.find('\x1b') == std::string::npos);
}

TEST_CASE("A file cut off at any length is refused") {
  const std::string file = sample_file();
  REQUIRE(error_of(file) == "no error");

  for (std::size_t length = 0; length < file.size(); ++length) {
    INFO(length);
    CHECK_THAT(error_of(file.substr(0, length)), Catch::StartsWith("some/file.safetensors: "));
  }
}

TEST_CASE("Reading by layout fills only the tensors' places") {
  const TemporaryFolder folder;
  const Checkpoint checkpoint = sample_checkpoint();
  write_in_place(folder.path() / "w", sample_file());
  FlatVector flat(checkpoint.parameters.flat_size(), 0.0F);

  SafetensorsFile(folder.path() / "w").read(checkpoint.parameters, "", flat);

  CHECK(flat == checkpoint.weights);
}

TEST_CASE("Reading by another layout names the tensor") {
  const TemporaryFolder folder;
  write_in_place(folder.path() / "w", sample_file());
  const SafetensorsFile file(folder.path() / "w");
  TensorLayout layout;

  SECTION("missing") {
    layout.add("layers.9.weight", {3});
  }
  SECTION("of another shape") {
    layout.add("layers.0.weight", {5, 3});
  }
  std::vector<float> flat(layout.flat_size());

  CHECK_THROWS_AS(file.read(layout, "", flat), CheckpointError);
  CHECK_THROWS_WITH(file.read(layout, "", flat),
                    Catch::Contains(layout.tensors()[0].name) && Catch::Contains("same model"));
}

}  // namespace scavenger
