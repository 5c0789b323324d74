// manifest.json: which files a checkpoint consists of, with their sizes and SHA-256, and its own.
//
// Its first and last lines have the same form in every version of the format, so that any version
// can tell "damaged" from "newer than I know".
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
  bool is_best = false;  // the best so far when it was written
  std::vector<ManifestFile> files;
};

std::string encode_manifest(const CheckpointManifest& manifest);

// Throws CheckpointError that says "damaged" where a single bit is not as written. A newer
// format's manifest decodes, with `files` empty: what is in it is for newer readers.
CheckpointManifest decode_manifest(const std::string& text, const std::string& where);
CheckpointManifest read_manifest(const std::filesystem::path& checkpoint);

// Throws CheckpointError for a format that this build does not know.
void require_known_format(const CheckpointManifest& manifest,
                          const std::filesystem::path& checkpoint);

// Reads every file and compares. Throws CheckpointError that names the first one that is missing,
// unreadable, or differs.
void verify_files(const CheckpointManifest& manifest, const std::filesystem::path& checkpoint);

// The error for a file that is not as it was written.
[[noreturn]] void throw_damaged(const std::string& where, const std::string& what);

}  // namespace scavenger
