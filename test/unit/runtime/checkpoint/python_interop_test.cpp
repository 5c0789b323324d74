// Python's safetensors reads what we write, and we read what it writes.
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/digest.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/safetensors/safetensors.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"

namespace scavenger {
namespace {

std::string python() {
  const char* chosen = std::getenv("SCAVENGER_PYTHON");
  return chosen != nullptr ? chosen : SCAVENGER_TEST_PYTHON;
}

bool has_python_safetensors() {
  const std::string script =
      "from importlib.util import find_spec as f; "
      "exit(not (f(\"torch\") and f(\"safetensors\")))";
  if (std::system((python() + " -c '" + script + "' 2>/dev/null").c_str()) == 0) return true;
  WARN("skipped: " << python() << " lacks torch or safetensors; SCAVENGER_PYTHON names another");
  return false;
}

// What passed between us and one run of Python: importing torch takes seconds.
class Exchange {
 public:
  Exchange() {
    LocalDisk disk;
    write_checkpoint(disk, sample_checkpoint(), false, folder_.path() / "checkpoint");
    const std::string command =
        python() + " " + SCAVENGER_TEST_FOLDER + "/safetensors_interop.py " +
        (folder_.path() / "checkpoint").string() + " " + python_file().string();
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer{};
    while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe.get()) != nullptr) {
      output_ += buffer.data();
    }
  }
  // What Python found in the checkpoint, as JSON.
  const std::string& output() const { return output_; }
  std::filesystem::path python_file() const { return folder_.path() / "python.safetensors"; }

  static const Exchange& once() {
    static const Exchange exchange;
    return exchange;
  }

 private:
  TemporaryFolder folder_;
  std::string output_;
};

void expect(nlohmann::json& tensors, const TensorLayout& layout, std::span<const float> flat,
            const std::string& prefix) {
  for (const TensorPlace& place : layout.tensors()) {
    const auto bytes = std::as_bytes(std::span(flat).subspan(place.offset, place.size));
    tensors[prefix + place.name] = {
        {"dtype", "torch.float32"}, {"shape", place.shape}, {"sha256", to_hex(sha256(bytes))}};
  }
}

template <typename T>
std::vector<T> values_of(const SafetensorsContent& content, const std::string& name) {
  const TensorEntry* tensor = content.find(name);
  REQUIRE(tensor != nullptr);
  std::vector<T> values(tensor->bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

}  // namespace

TEST_CASE("Python loads a checkpoint's tensors bit by bit") {
  if (!has_python_safetensors()) return;
  const Checkpoint checkpoint = sample_checkpoint();
  nlohmann::json weights;
  expect(weights, checkpoint.parameters, checkpoint.weights, "");
  expect(weights, checkpoint.buffers, checkpoint.buffer_values, "");
  nlohmann::json optimizer;
  for (const auto& [slot, values] : checkpoint.optimizer.slots) {
    expect(optimizer, checkpoint.parameters, values, slot + "/");
  }

  const auto described = nlohmann::json::parse(Exchange::once().output());

  CHECK(described.at("weights.safetensors") == weights);
  CHECK(described.at("optimizer.safetensors") == optimizer);
}

TEST_CASE("A file that Python wrote is read, every element type of it") {
  if (!has_python_safetensors()) return;

  const SafetensorsFile file(Exchange::once().python_file());
  const SafetensorsContent& content = file.content();
  CHECK(content.metadata.at("author") == "python");
  CHECK(content.find("f32")->shape == std::vector<std::int64_t>{2, 3});
  CHECK(values_of<float>(content, "f32") == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(values_of<double>(content, "f64") == std::vector<double>{0.1, -0.2});
  CHECK(values_of<std::int64_t>(content, "i64") == std::vector<std::int64_t>{-1, 1L << 40});
  CHECK(values_of<std::uint8_t>(content, "u8") == std::vector<std::uint8_t>{0, 255});
  CHECK(values_of<std::uint16_t>(content, "bf16") == std::vector<std::uint16_t>{0x3f80});
  CHECK(values_of<std::uint16_t>(content, "f16") == std::vector<std::uint16_t>{0x3c00});
  CHECK(content.find("scalar")->shape.empty());
  CHECK(content.find("empty")->bytes.empty());
  TensorLayout layout;
  layout.add("f32", {2, 3});
  std::vector<float> flat(layout.flat_size());
  file.read(layout, "", flat);
  CHECK(flat[5] == 5.0F);
}

}  // namespace scavenger
