#include "runtime/data/prepared_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr std::array<char, 8> kMagic = {'S', 'C', 'V', 'D', 'A', 'T', 'A', '\0'};
constexpr std::uint64_t kFeaturesOffset = 4096;
constexpr std::uint64_t kPartAlignment = 64;
constexpr std::size_t kMaxDimensions = 4;

// The parts that follow the features, in this order.
enum Part : std::size_t {
  kLabels,
  kValues,
  kTokens,
  kTokenEnds,
  kTargetTokens,
  kTargetEnds,
  kVocabulary,
  kTargetVocabulary,
  kParts
};

struct PartPlace {
  std::uint64_t offset = 0;  // bytes from the start of the file
  std::uint64_t size = 0;    // bytes
};

struct PreparedHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t format_version = kPreparedFormatVersion;
  FeatureType feature_type = FeatureType::kUint8;
  std::uint64_t sample_count = 0;
  std::uint64_t dimension_count = 0;  // dimensions of sample_shape
  std::array<std::int64_t, kMaxDimensions> sample_shape{};
  std::uint64_t target_dimension_count = 0;
  std::array<std::int64_t, kMaxDimensions> target_shape{};
  std::array<PartPlace, kParts> parts{};
  std::uint64_t file_size = 0;  // bytes
  Digest key{};
  Digest checksum{};  // SHA-256 of the fields above
};
static_assert(std::is_trivially_copyable_v<PreparedHeader>);
static_assert(sizeof(PreparedHeader) == 304 && sizeof(PreparedHeader) <= kFeaturesOffset);

template <typename Container>
std::span<const std::byte> bytes_of(const Container& values) {
  return std::as_bytes(std::span(values));
}

Digest checksum_of(const PreparedHeader& header) {
  return sha256(std::as_bytes(std::span(&header, 1)).first(offsetof(PreparedHeader, checksum)));
}

std::span<const std::byte> features_of(const SampleTable& table) {
  return table.feature_type == FeatureType::kUint8 ? bytes_of(table.bytes) : bytes_of(table.floats);
}

std::array<std::span<const std::byte>, kParts> parts_of(const SampleTable& table) {
  return {bytes_of(table.labels),     bytes_of(table.values),           bytes_of(table.tokens),
          bytes_of(table.token_ends), bytes_of(table.target_tokens),    bytes_of(table.target_ends),
          bytes_of(table.vocabulary), bytes_of(table.target_vocabulary)};
}

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

PreparedHeader make_header(const SampleTable& table, const Digest& key) {
  SCAVENGER_CHECK(table.sample_count() > 0 || !table.tokens.empty());
  SCAVENGER_CHECK(std::max(table.sample_shape.size(), table.target_shape.size()) <= kMaxDimensions);
  PreparedHeader header;
  header.feature_type = table.feature_type;
  header.sample_count = table.sample_count();
  header.dimension_count = table.sample_shape.size();
  std::ranges::copy(table.sample_shape, header.sample_shape.begin());
  header.target_dimension_count = table.target_shape.size();
  std::ranges::copy(table.target_shape, header.target_shape.begin());
  header.file_size = kFeaturesOffset + features_of(table).size();
  const auto parts = parts_of(table);
  for (std::size_t part = 0; part < kParts; ++part) {
    if (parts[part].empty()) continue;
    header.parts[part] = {aligned(header.file_size), parts[part].size()};
    header.file_size = header.parts[part].offset + parts[part].size();
  }
  header.key = key;
  header.checksum = checksum_of(header);
  return header;
}

void write_at(const FileDescriptor& file, std::uint64_t offset, std::span<const std::byte> bytes,
              const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw SystemError(errno, {.what = "cannot write the prepared data set",
                                .where = path.string(),
                                .remedy = "free disk space there, or set SCAVENGER_CACHE_DIR to a "
                                          "folder with more of it"});
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void write_content(const std::filesystem::path& path, const SampleTable& table,
                   const PreparedHeader& header) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  // A half-written file of an earlier attempt may have other access rights.
  if (file.get() < 0 || ::fchmod(file.get(), 0600) != 0)
    throw SystemError(errno, {.what = "cannot create the prepared data set",
                              .where = path.string(),
                              .remedy = "set SCAVENGER_CACHE_DIR to a folder that you can write"});
  write_at(file, 0, std::as_bytes(std::span(&header, 1)), path);
  write_at(file, kFeaturesOffset, features_of(table), path);
  const auto parts = parts_of(table);
  for (std::size_t part = 0; part < kParts; ++part)
    write_at(file, header.parts[part].offset, parts[part], path);
}

std::uint64_t product(std::span<const std::int64_t> shape) {
  std::uint64_t result = 1;
  for (const std::int64_t dimension : shape) result *= static_cast<std::uint64_t>(dimension);
  return result;
}

// Copies the header, because the bytes of the map are not an object of that type.
PreparedHeader read_header(std::span<const std::byte> file) {
  PreparedHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  return header;
}

// Returns the bytes of the features according to the header; nothing if there cannot be so many.
std::optional<std::uint64_t> feature_bytes(const PreparedHeader& header) {
  if (header.feature_type == FeatureType::kToken) return 0;
  std::uint64_t bytes = header.feature_type == FeatureType::kUint8 ? 1 : sizeof(float);
  if (__builtin_mul_overflow(bytes, header.sample_count, &bytes)) return std::nullopt;
  for (std::uint64_t i = 0; i < header.dimension_count; ++i)
    if (header.sample_shape[i] <= 0 ||
        __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(header.sample_shape[i]), &bytes))
      return std::nullopt;
  return bytes;
}

bool holds(const PreparedHeader& header, Part part, std::uint64_t count, std::uint64_t bytes) {
  return !__builtin_mul_overflow(count, bytes, &count) && header.parts[part].size == count;
}

// Returns whether every sample has a target, and every text an end.
bool has_targets(const PreparedHeader& header) {
  if (header.feature_type == FeatureType::kToken) {
    const std::uint64_t ends = header.sample_count == 0 ? 0 : header.sample_count + 1;
    const bool has_pairs = header.parts[kTargetEnds].size > 0;
    return holds(header, kTokenEnds, ends, sizeof(std::uint64_t)) &&
           header.parts[kTokens].size % sizeof(std::int32_t) == 0 &&
           header.parts[kTargetTokens].size % sizeof(std::int32_t) == 0 &&
           (!has_pairs || holds(header, kTargetEnds, ends, sizeof(std::uint64_t)));
  }
  if (header.sample_count == 0) return false;
  if (header.parts[kValues].size == 0)
    return holds(header, kLabels, header.sample_count, sizeof(std::int32_t));
  std::uint64_t values = header.sample_count;
  for (std::uint64_t i = 0; i < header.target_dimension_count; ++i)
    if (header.target_shape[i] <= 0 ||
        __builtin_mul_overflow(values, static_cast<std::uint64_t>(header.target_shape[i]), &values))
      return false;
  return holds(header, kValues, values, sizeof(float));
}

// Returns whether features and parts follow one another in the file.
bool adds_up(const PreparedHeader& header) {
  if (header.feature_type > FeatureType::kToken || header.sample_count > UINT32_MAX ||
      std::max(header.dimension_count, header.target_dimension_count) > kMaxDimensions)
    return false;
  const auto features = feature_bytes(header);
  if (!features || *features > header.file_size - std::min(kFeaturesOffset, header.file_size))
    return false;
  std::uint64_t end = kFeaturesOffset + *features;
  for (const PartPlace& part : header.parts) {
    if (part.size == 0 && part.offset == 0) continue;
    if (part.offset != aligned(end) || part.offset > header.file_size ||
        part.size > header.file_size - part.offset)
      return false;
    end = part.offset + part.size;
  }
  return end == header.file_size && has_targets(header);
}

bool is_current(std::span<const std::byte> file, const Digest& key) {
  if (file.size() < sizeof(PreparedHeader)) return false;
  const PreparedHeader header = read_header(file);
  return header.magic == kMagic && header.format_version == kPreparedFormatVersion &&
         header.checksum == checksum_of(header) && header.key == key &&
         header.file_size == file.size() && adds_up(header);
}

}  // namespace

void write_prepared_file(const std::filesystem::path& path, const SampleTable& table,
                         const Digest& key) {
  const PreparedHeader header = make_header(table, key);
  SCAVENGER_CHECK(table.feature_type == FeatureType::kToken ||
                  features_of(table).size() ==
                      table.sample_count() * product(table.sample_shape) *
                          (table.feature_type == FeatureType::kUint8 ? 1 : sizeof(float)));
  const std::filesystem::path temporary = path.string() + ".tmp";
  try {
    write_content(temporary, table, header);
    sync_to_disk(temporary);
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throw SystemError(errno, {.what = "cannot rename a temporary file to this",
                                .where = path.string(),
                                .remedy = "move away what is there"});
    sync_to_disk(path.parent_path());
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

std::optional<PreparedFile> PreparedFile::open_if_current(const std::filesystem::path& path,
                                                          const Digest& key) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable)) return std::nullopt;
  MappedFile map(path);
  if (!is_current(map.bytes(), key)) return std::nullopt;
  return PreparedFile(std::move(map));
}

PreparedFile::PreparedFile(MappedFile map) : map_(std::move(map)) {
  const PreparedHeader header = read_header(map_.bytes());
  const std::byte* start = map_.bytes().data();
  feature_type_ = header.feature_type;
  sample_shape_.assign(
      header.sample_shape.begin(),
      header.sample_shape.begin() + static_cast<std::ptrdiff_t>(header.dimension_count));
  elements_per_sample_ = feature_type_ == FeatureType::kToken ? 0 : product(sample_shape_);
  bytes_ = reinterpret_cast<const std::uint8_t*>(start + kFeaturesOffset);
  floats_ = reinterpret_cast<const float*>(start + kFeaturesOffset);
  sample_count_ = header.sample_count;
  target_shape_.assign(
      header.target_shape.begin(),
      header.target_shape.begin() + static_cast<std::ptrdiff_t>(header.target_dimension_count));
  const auto find = [&]<typename T>(Part part, std::span<const T>& values) {
    values = {reinterpret_cast<const T*>(start + header.parts[part].offset),
              header.parts[part].size / sizeof(T)};
  };
  find(kLabels, labels_);
  find(kValues, values_);
  find(kTokens, tokens_);
  find(kTokenEnds, token_ends_);
  find(kTargetTokens, target_tokens_);
  find(kTargetEnds, target_ends_);
  std::span<const char> text;
  find(kVocabulary, text);
  vocabulary_ = {text.data(), text.size()};
  find(kTargetVocabulary, text);
  target_vocabulary_ = {text.data(), text.size()};
}

void PreparedFile::prefetch(std::uint32_t index) const {
  constexpr std::size_t kCacheLineBytes = 64;
  const auto fetch = [](std::span<const std::byte> sample) {
    for (std::size_t i = 0; i < sample.size(); i += kCacheLineBytes)
      __builtin_prefetch(sample.data() + i);
  };
  fetch(feature_type_ == FeatureType::kUint8 ? std::as_bytes(bytes(index))
                                             : std::as_bytes(floats(index)));
}

}  // namespace scavenger
