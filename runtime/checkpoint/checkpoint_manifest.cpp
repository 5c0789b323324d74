#include "runtime/checkpoint/checkpoint_manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/whole_number.h"

namespace scavenger {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormatName = "scavenger checkpoint";

// Returns the last line of the manifest, a checksum of every byte before it.
std::string seal(std::string_view body) {
  return fmt::format("  \"manifest_sha256\": \"{}\"\n}}\n", sha256_hex(body));
}

constexpr std::uint64_t kLargestManifestBytes = std::uint64_t{1} << 20;
const std::size_t kSealBytes = seal("").size();

[[noreturn]] void throw_unreadable(const std::filesystem::path& path) {
  throw_damaged(path.string(), std::string("cannot be read: ") + std::strerror(errno));
}

struct FileFacts {
  std::uint64_t bytes = 0;
  std::string sha256;
};

FileDescriptor open_content(const std::filesystem::path& path) {
  try {
    return open_regular_file(path);
  } catch (const SystemError& error) {
    throw_damaged(path.string(), error.problem().what);
  }
}

// Uses read() instead of a memory map, so that a bad sector is an error here and not a signal.
FileFacts facts_of(const std::filesystem::path& path) {
  const FileDescriptor file = open_content(path);
  FileFacts facts;
  DigestStream digest;
  std::vector<std::byte> buffer(1 << 20);
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_unreadable(path);
    if (count == 0) break;
    const auto bytes = static_cast<std::size_t>(count);
    digest.update(std::span(buffer).first(bytes));
    facts.bytes += bytes;
  }
  facts.sha256 = to_hex(digest.finish());
  return facts;
}

CheckpointManifest manifest_from(const Json& json, const std::string& where) {
  CheckpointManifest manifest;
  manifest.format_version = whole_number<std::uint32_t>(json.at("format_version"), where);
  if (manifest.format_version != kCheckpointFormatVersion) return manifest;
  manifest.iteration = whole_number<std::uint64_t>(json.at("iteration"), where);
  manifest.is_best = json.at("is_best").get<bool>();
  for (const Json& file : json.at("files")) {
    manifest.files.push_back({.name = file.at("name").get<std::string>(),
                              .bytes = whole_number<std::uint64_t>(file.at("bytes"), where),
                              .sha256 = file.at("sha256").get<std::string>()});
    const std::string& name = manifest.files.back().name;
    if (name.empty() || name.find('/') != std::string::npos)
      throw_damaged(where, "names a file that is not beside it");
  }
  return manifest;
}

}  // namespace

void throw_damaged(const std::string& where, const std::string& what) {
  throw CheckpointError({.what = "the checkpoint is damaged: this file " + what,
                         .where = where,
                         .remedy = "use the checkpoint before it, or another copy of this one"});
}

std::string encode_manifest(const CheckpointManifest& manifest) {
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  const Json json = {{"format", kFormatName},
                     {"format_version", manifest.format_version},
                     {"iteration", manifest.iteration},
                     {"is_best", manifest.is_best},
                     {"files", std::move(files)}};
  std::string body = json_text(json, {.indent = 2});
  body.replace(body.size() - 2, 2, ",\n");  // the closing brace moves behind the seal
  return body + seal(body);
}

CheckpointManifest decode_manifest(const std::string& text, const std::string& where) {
  const std::size_t body_bytes = text.size() < kSealBytes ? 0 : text.size() - kSealBytes;
  const std::string_view body = std::string_view(text).substr(0, body_bytes);
  if (std::string_view(text).substr(body_bytes) != seal(body)) {
    throw_damaged(where, "does not have the SHA-256 that its last line says");
  }
  try {
    const Json json = parse_json<Json>(text);
    if (json.at("format") != kFormatName) throw_damaged(where, "is not a checkpoint's manifest");
    return manifest_from(json, where);
  } catch (const Json::exception& error) {
    throw_damaged(where, "is not as the format asks: " + describe(error));
  }
}

CheckpointManifest read_manifest(const std::filesystem::path& checkpoint) {
  const std::filesystem::path path = checkpoint / kManifestName;
  std::string text;
  try {
    text = read_file(path, kLargestManifestBytes);
  } catch (const SystemError& error) {
    throw_damaged(path.string(), error.problem().what);
  }
  return decode_manifest(text, path.string());
}

void require_known_format(const CheckpointManifest& manifest,
                          const std::filesystem::path& checkpoint) {
  if (manifest.format_version == kCheckpointFormatVersion) return;
  throw CheckpointError(
      {.what = fmt::format("the checkpoint has the format version {}; this build of Scavenger "
                           "reads version {}",
                           manifest.format_version, kCheckpointFormatVersion),
       .where = checkpoint.string(),
       .remedy = "resume with the newer Scavenger that wrote it"});
}

void verify_files(const CheckpointManifest& manifest, const std::filesystem::path& checkpoint) {
  for (const ManifestFile& expected : manifest.files) {
    const std::filesystem::path path = checkpoint / expected.name;
    const FileFacts found = facts_of(path);
    if (found.bytes != expected.bytes) {
      throw_damaged(path.string(),
                    fmt::format("has {} bytes, and {} were written", found.bytes, expected.bytes));
    }
    if (found.sha256 != expected.sha256) {
      throw_damaged(path.string(), "does not have the SHA-256 that the manifest says");
    }
  }
}

}  // namespace scavenger
