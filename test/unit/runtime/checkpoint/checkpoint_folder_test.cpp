#include "runtime/checkpoint/checkpoint_folder.h"

#include <bit>
#include <catch2/catch.hpp>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/checkpoint/checkpoint_manifest.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kAllFiles = {"weights.safetensors", "optimizer.safetensors",
                                            "state.json", "manifest.json"};

std::vector<std::uint32_t> bits_of(const FlatVector& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

// A written checkpoint, and one of its files with its right content.
class WrittenSample {
 public:
  WrittenSample() { write_checkpoint(disk_, sample_checkpoint(), false, folder()); }
  fs::path folder() const { return temporary_.path() / "iteration_000001234"; }
  fs::path temporary() const { return temporary_.path(); }
  LocalDisk& disk() { return disk_; }

 private:
  TemporaryFolder temporary_;
  LocalDisk disk_;
};

std::string error_of_reading(const fs::path& folder) {
  try {
    read_checkpoint(folder);
    return "no error";
  } catch (const CheckpointError& error) {
    return error.what();
  }
}

void overwrite_byte(const fs::path& path, std::size_t place, char byte) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(place));
  file.put(byte);
  REQUIRE(file.flush());
}

// Gives the manifest of a checkpoint other facts, with a right seal.
void rewrite_manifest(const fs::path& folder, const CheckpointManifest& manifest) {
  write_file_atomically(folder / "manifest.json", encode_manifest(manifest));
}

}  // namespace

TEST_CASE("A checkpoint comes back as it was written") {
  const WrittenSample sample;

  CHECK(read_checkpoint(sample.folder()) == sample_checkpoint());
}

TEST_CASE("Weights come back bit by bit, also those that are not numbers") {
  const TemporaryFolder folder;
  LocalDisk disk;
  Checkpoint checkpoint = sample_checkpoint();
  checkpoint.weights[0] = std::numeric_limits<float>::quiet_NaN();
  checkpoint.weights[1] = -0.0F;
  checkpoint.weights[2] = std::numeric_limits<float>::denorm_min();
  checkpoint.weights[3] = -std::numeric_limits<float>::infinity();
  checkpoint.weights[4] = std::bit_cast<float>(0xffc12345U);

  write_checkpoint(disk, checkpoint, false, folder.path() / "c");

  CHECK(bits_of(read_checkpoint(folder.path() / "c").weights) == bits_of(checkpoint.weights));
}

TEST_CASE("A checkpoint without optimizer state and buffers comes back") {
  const TemporaryFolder folder;
  LocalDisk disk;
  Checkpoint checkpoint = sample_checkpoint();
  checkpoint.optimizer = {};
  checkpoint.buffers = {};
  checkpoint.buffer_values = {};

  write_checkpoint(disk, checkpoint, false, folder.path() / "c");

  CHECK(read_checkpoint(folder.path() / "c") == checkpoint);
}

TEST_CASE("Every flipped byte of every file is noticed and its file named") {
  const WrittenSample sample;
  for (const std::string& name : kAllFiles) {
    const fs::path path = sample.folder() / name;
    const std::string right = read_file(path);
    REQUIRE(right.size() > 100);
    std::size_t unnoticed = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      const char wrong = static_cast<char>(right[i] ^ (1 << (i % 8)));
      overwrite_byte(path, i, wrong);
      const std::string error = error_of_reading(sample.folder());
      if (error.find(path.string() + ": the checkpoint is damaged") != 0) ++unnoticed;
      overwrite_byte(path, i, right[i]);
    }
    INFO(name);
    CHECK(unnoticed == 0);
  }
  CHECK(read_checkpoint(sample.folder()) == sample_checkpoint());
}

TEST_CASE("A file that is cut off, longer or missing is noticed and named") {
  const std::string name = GENERATE(from_range(kAllFiles));
  const WrittenSample sample;
  const fs::path path = sample.folder() / name;
  const std::string right = read_file(path);

  SECTION("cut off") {
    fs::resize_file(path, right.size() - 1);
  }
  SECTION("empty") {
    fs::resize_file(path, 0);
  }
  SECTION("longer") {
    write_in_place(path, right + "\n");
  }
  SECTION("missing") {
    fs::remove(path);
  }

  CHECK_THAT(error_of_reading(sample.folder()),
             Catch::Contains(path.string()) && Catch::Contains("damaged"));
}

TEST_CASE("A newer format is called newer, and a damaged version number damaged") {
  const WrittenSample sample;
  const fs::path path = sample.folder() / "manifest.json";
  CheckpointManifest manifest = read_manifest(sample.folder());

  SECTION("newer") {
    manifest.format_version = kCheckpointFormatVersion + 1;
    rewrite_manifest(sample.folder(), manifest);

    CHECK_THAT(error_of_reading(sample.folder()), Catch::Contains("format version 2") &&
                                                      Catch::Contains("newer Scavenger") &&
                                                      !Catch::Contains("damaged"));
  }
  SECTION("damaged") {
    std::string text = read_file(path);
    text.replace(text.find("\"format_version\": 1"), 19, "\"format_version\": 2");
    write_in_place(path, text);

    CHECK_THAT(error_of_reading(sample.folder()), Catch::Contains("damaged"));
  }
}

TEST_CASE("A manifest with a right seal but other files is refused") {
  const WrittenSample sample;
  CheckpointManifest manifest = read_manifest(sample.folder());
  std::string complaint = "does not list the files";

  SECTION("one missing") {
    manifest.files.pop_back();
  }
  SECTION("one twice") {
    manifest.files[0] = manifest.files[1];
  }
  SECTION("one elsewhere") {
    manifest.files[0].name = "../weights.safetensors";
    complaint = "names a file that is not beside it";
  }
  rewrite_manifest(sample.folder(), manifest);

  CHECK_THAT(error_of_reading(sample.folder()), Catch::Contains(complaint));
}

TEST_CASE("Files of two checkpoints cannot be mixed") {
  const WrittenSample sample;
  const fs::path other = sample.temporary() / "other";
  LocalDisk disk;
  write_checkpoint(disk, sample_checkpoint(99), false, other);

  const std::string name = GENERATE(from_range(kAllFiles));
  fs::copy_file(other / name, sample.folder() / name, fs::copy_options::overwrite_existing);

  CHECK_THAT(error_of_reading(sample.folder()), Catch::Contains("damaged"));
}

TEST_CASE("Writing over a checkpoint replaces it and leaves nothing beside it") {
  WrittenSample sample;
  Checkpoint again = sample_checkpoint();
  again.history["elapsed_seconds"] = 99.0;

  write_checkpoint(sample.disk(), again, false, sample.folder());

  CHECK(read_checkpoint(sample.folder()) == again);
  CHECK(std::distance(fs::directory_iterator(sample.temporary()), {}) == 1);
}

TEST_CASE("A file system that cannot exchange names still replaces a checkpoint") {
  class DiskWithoutExchange final : public LocalDisk {
    bool exchange(const fs::path&, const fs::path&) override { return false; }
  };
  WrittenSample sample;
  DiskWithoutExchange disk;
  Checkpoint again = sample_checkpoint();
  again.history["elapsed_seconds"] = 99.0;

  write_checkpoint(disk, again, false, sample.folder());

  CHECK(read_checkpoint(sample.folder()) == again);
  CHECK(std::distance(fs::directory_iterator(sample.temporary()), {}) == 1);
}

}  // namespace scavenger
