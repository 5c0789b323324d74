#include "runtime/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint_manifest.h"
#include "runtime/checkpoint/checkpoint_state.h"
#include "runtime/safetensors/safetensors.h"

namespace scavenger {
namespace {

constexpr const char* kWeightsName = "weights.safetensors";
constexpr const char* kOptimizerName = "optimizer.safetensors";
constexpr const char* kStateName = "state.json";
constexpr std::uint64_t kLargestStateBytes = std::uint64_t{1} << 30;  // including the vocabularies
constexpr std::array kContentNames = {kWeightsName, kOptimizerName, kStateName};

// Writes one file and computes its entry in the manifest at the same time.
class ContentWriter final {
 public:
  ContentWriter(Disk& disk, const std::filesystem::path& path)
      : output_(disk.create_file(path)), name_(path.filename().string()) {}

  void write(std::span<const std::byte> bytes) {
    // Written in pieces that are still in the cache when they are copied to the kernel.
    constexpr std::size_t kPieceBytes = 256 << 10;
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
      digest_.update(piece);
      output_->write(piece);
      bytes_ += piece.size();
      bytes = bytes.subspan(piece.size());
    }
  }

  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  ManifestFile finish() {
    output_->sync();
    return {.name = name_, .bytes = bytes_, .sha256 = to_hex(digest_.finish())};
  }

 private:
  std::unique_ptr<FileOutput> output_;
  std::string name_;
  DigestStream digest_;
  std::uint64_t bytes_ = 0;
};

ManifestFile write_tensors(Disk& disk, const std::filesystem::path& path,
                           std::span<const TensorSource> sources) {
  ContentWriter writer(disk, path);
  writer.write(safetensors_preamble(sources, {{"format", "pt"}}));
  for (const TensorSource& source : sources) writer.write(source.bytes);
  return writer.finish();
}

ManifestFile write_text(Disk& disk, const std::filesystem::path& path, std::string_view text) {
  ContentWriter writer(disk, path);
  writer.write(text);
  return writer.finish();
}

std::vector<TensorSource> weight_sources(const Checkpoint& checkpoint) {
  std::vector<TensorSource> sources;
  append_sources(checkpoint.parameters, checkpoint.weights, "", sources);
  append_sources(checkpoint.buffers, checkpoint.buffer_values, "", sources);
  return sources;
}

std::vector<TensorSource> optimizer_sources(const Checkpoint& checkpoint) {
  std::vector<TensorSource> sources;
  for (const auto& [slot, values] : checkpoint.optimizer.slots) {
    SCAVENGER_CHECK(!slot.empty() && slot.find('/') == std::string::npos);
    append_sources(checkpoint.parameters, values, slot + "/", sources);
  }
  return sources;
}

std::uint64_t write_files(Disk& disk, const Checkpoint& checkpoint, bool is_best,
                          const std::filesystem::path& folder) {
  CheckpointManifest manifest{.format_version = checkpoint.format_version,
                              .iteration = checkpoint.iteration,
                              .is_best = is_best,
                              .files = {}};
  manifest.files.push_back(write_tensors(disk, folder / kWeightsName, weight_sources(checkpoint)));
  manifest.files.push_back(
      write_tensors(disk, folder / kOptimizerName, optimizer_sources(checkpoint)));
  manifest.files.push_back(write_text(disk, folder / kStateName, encode_state(checkpoint)));
  std::uint64_t bytes = write_text(disk, folder / kManifestName, encode_manifest(manifest)).bytes;
  for (const ManifestFile& file : manifest.files) bytes += file.bytes;
  disk.sync_folder(folder);
  return bytes;
}

std::filesystem::path beside(const std::filesystem::path& folder, const char* prefix) {
  return folder.parent_path() / (prefix + folder.filename().string());
}

// For file systems that cannot exchange names. A crash between the two steps loses this one
// checkpoint, which `complete` repeats.
void replace_in_two_steps(Disk& disk, const std::filesystem::path& complete,
                          const std::filesystem::path& folder, const std::filesystem::path& old) {
  disk.rename(folder, old);
  try {
    disk.rename(complete, folder);
  } catch (const SystemError&) {
    disk.rename(old, folder);
    throw;
  }
}

// Gives the complete folder its name, and replaces a folder that has that name.
void publish(Disk& disk, const std::filesystem::path& complete,
             const std::filesystem::path& folder) {
  const std::filesystem::path parent = folder.parent_path();
  std::error_code unknown;
  if (!std::filesystem::exists(folder, unknown)) {
    disk.rename(complete, folder);
    disk.sync_folder(parent);
    return;
  }
  const std::filesystem::path old = beside(folder, kRemovingPrefix);
  disk.remove_all(old);
  if (disk.exchange(complete, folder)) {
    disk.rename(complete, old);
  } else {
    replace_in_two_steps(disk, complete, folder, old);
  }
  disk.sync_folder(parent);
  disk.remove_all(old);
}

void require_content_names(const CheckpointManifest& manifest,
                           const std::filesystem::path& folder) {
  const auto lists = [&](const char* name) {
    return std::ranges::count(manifest.files, name, &ManifestFile::name) == 1;
  };
  if (manifest.files.size() == kContentNames.size() && std::ranges::all_of(kContentNames, lists)) {
    return;
  }
  throw_damaged((folder / kManifestName).string(), "does not list the files of a checkpoint");
}

// Requires that the files are as they were written.
Checkpoint decode_files(const std::filesystem::path& folder) {
  const SafetensorsFile weights(folder / kWeightsName);
  const SafetensorsFile optimizer(folder / kOptimizerName);
  Checkpoint checkpoint = decode_state(read_file(folder / kStateName, kLargestStateBytes),
                                       weights.content(), (folder / kStateName).string());
  weights.read(checkpoint.parameters, "", checkpoint.weights);
  weights.read(checkpoint.buffers, "", checkpoint.buffer_values);
  for (auto& [slot, values] : checkpoint.optimizer.slots) {
    optimizer.read(checkpoint.parameters, slot + "/", values);
  }
  return checkpoint;
}

}  // namespace

std::uint64_t write_checkpoint(Disk& disk, const Checkpoint& checkpoint, bool is_best,
                               const std::filesystem::path& folder) {
  const std::filesystem::path temporary = beside(folder, kWritingPrefix);
  disk.remove_all(temporary);
  try {
    disk.create_folder(temporary);
    const std::uint64_t bytes = write_files(disk, checkpoint, is_best, temporary);
    publish(disk, temporary, folder);
    return bytes;
  } catch (...) {
    std::error_code ignored;  // the first error is reported
    std::filesystem::remove_all(temporary, ignored);
    throw;
  }
}

Checkpoint read_checkpoint(const std::filesystem::path& folder) {
  const CheckpointManifest manifest = read_manifest(folder);
  require_known_format(manifest, folder);
  require_content_names(manifest, folder);
  verify_files(manifest, folder);
  Checkpoint checkpoint = decode_files(folder);
  if (checkpoint.iteration != manifest.iteration) {
    throw_damaged((folder / kManifestName).string(), "is of another iteration than state.json");
  }
  return checkpoint;
}

}  // namespace scavenger
