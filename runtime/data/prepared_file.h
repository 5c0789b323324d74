// The file format of prepared samples, which are mapped into memory.
//
//   header     PreparedHeader (prepared_file.cpp), with a SHA-256 of itself
//   features   at a page boundary: samples x elements, u8 or f32, row-major
//   the other parts of the SampleTable, each at a cache line
//
// Numbers are in the byte order of the host. The content needs no checksum of its own, since the
// file gets its name only after it is complete and on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/data/readers/sample_table.h"

namespace scavenger {

// Part of every key. Increase it when the format changes, or when a reader converts its files
// differently.
inline constexpr std::uint32_t kPreparedFormatVersion = 2;

// Writes the file beside `path`, forces it to disk and renames it. `key` identifies the sources of
// the content. Throws SystemError, and leaves no file behind then.
void write_prepared_file(const std::filesystem::path& path, const SampleTable& table,
                         const Digest& key);

// Constant after opening, so any thread may read it.
class PreparedFile final {
 public:
  // Returns nothing if the file is missing or damaged, has another format version, or was made from
  // other sources. Takes constant time.
  static std::optional<PreparedFile> open_if_current(const std::filesystem::path& path,
                                                     const Digest& key);

  FeatureType feature_type() const { return feature_type_; }
  std::uint64_t sample_count() const { return sample_count_; }  // 0 for running text
  std::uint64_t elements_per_sample() const { return elements_per_sample_; }
  const std::vector<std::int64_t>& sample_shape() const { return sample_shape_; }

  std::span<const std::uint8_t> bytes(std::uint32_t index) const {
    return {bytes_ + index * elements_per_sample_, elements_per_sample_};
  }
  std::span<const float> floats(std::uint32_t index) const {
    return {floats_ + index * elements_per_sample_, elements_per_sample_};
  }
  void prefetch(std::uint32_t index) const;
  // As in SampleTable; empty if this data set has none.
  std::span<const std::int32_t> labels() const { return labels_; }
  const std::vector<std::int64_t>& target_shape() const { return target_shape_; }
  std::span<const float> values() const { return values_; }
  std::span<const std::int32_t> tokens() const { return tokens_; }
  std::span<const std::uint64_t> token_ends() const { return token_ends_; }
  std::span<const std::int32_t> target_tokens() const { return target_tokens_; }
  std::span<const std::uint64_t> target_ends() const { return target_ends_; }
  std::string_view vocabulary() const { return vocabulary_; }
  std::string_view target_vocabulary() const { return target_vocabulary_; }

 private:
  explicit PreparedFile(MappedFile map);

  MappedFile map_;
  FeatureType feature_type_;
  std::uint64_t elements_per_sample_;
  std::vector<std::int64_t> sample_shape_;
  const std::uint8_t* bytes_;  // the features; only the pointer of their type is used
  const float* floats_;
  std::uint64_t sample_count_;
  std::vector<std::int64_t> target_shape_;
  std::span<const std::int32_t> labels_;
  std::span<const float> values_;
  std::span<const std::int32_t> tokens_, target_tokens_;
  std::span<const std::uint64_t> token_ends_, target_ends_;
  std::string_view vocabulary_, target_vocabulary_;
};

}  // namespace scavenger
