// manifest.json: the files of a checkpoint with their sizes and SHA-256, and the manifest's own
// SHA-256.
//
// Its first and last lines have the same form in every version of the format, so that every version
// can distinguish a damaged checkpoint from a newer one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace scavenger {

inline constexpr const char* kManifestName = "manifest.json";

struct ManifestFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;  // hexadecimal
};

struct CheckpointManifest {
  std::uint32_t format_version = 0;
  std::uint64_t iteration = 0;
  bool is_best = false;  // it was the best so far when it was written
  std::vector<ManifestFile> files;
};

std::string encode_manifest(const CheckpointManifest& manifest);

// Throws CheckpointError ("damaged") if any bit differs from what was written. The manifest of a
// newer format can be decoded, but `files` is then empty.
CheckpointManifest decode_manifest(const std::string& text, const std::string& where);
CheckpointManifest read_manifest(const std::filesystem::path& checkpoint);

// Throws CheckpointError if this build does not know the format.
void require_known_format(const CheckpointManifest& manifest,
                          const std::filesystem::path& checkpoint);

// Reads every file and compares it with the manifest. Throws CheckpointError, which names the first
// file that is missing, unreadable or different.
void verify_files(const CheckpointManifest& manifest, const std::filesystem::path& checkpoint);

// Throws the CheckpointError for a file that is not as it was written.
[[noreturn]] void throw_damaged(const std::string& where, const std::string& what);

}  // namespace scavenger
