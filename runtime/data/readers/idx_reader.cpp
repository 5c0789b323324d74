// IDX: two zero bytes, the element type, the number of dimensions, each dimension as a big-endian
// 32-bit number, then the elements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/data/readers/data_file.h"
#include "runtime/data/readers/source_readers.h"

namespace scavenger {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kReadBytes = 1u << 24;

std::uint32_t read_dimension(DataFile& file) {
  std::array<std::uint8_t, 4> bytes;
  if (file.read(bytes) < bytes.size())
    throw DataError({.what = "the IDX file ends within its header",
                     .where = file.path().string(),
                     .remedy = "it is truncated: fetch it again"});
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

std::vector<std::int64_t> read_header(DataFile& file) {
  std::array<std::uint8_t, 4> magic;
  const std::size_t count = file.read(magic);
  if (count == 0)
    throw DataError(
        {.what = "the file is empty", .where = file.path().string(), .remedy = "fetch it again"});
  if (count < magic.size() || magic[0] != 0 || magic[1] != 0)
    throw DataError(
        {.what = "this is not an IDX file: it does not start with two zero bytes",
         .where = file.path().string(),
         .remedy = "name an IDX file such as train-images-idx3-ubyte.gz, or set \"format\" to "
                   "what the file is"});
  if (magic[2] != kUnsignedByte)
    throw DataError(
        {.what = fmt::format("IDX element type {:#04x} is not supported", magic[2]),
         .where = file.path().string(),
         .remedy = "convert the file to unsigned bytes (element type 0x08), or to CSV"});
  std::vector<std::int64_t> dimensions(magic[3]);
  for (std::int64_t& dimension : dimensions) dimension = read_dimension(file);
  return dimensions;
}

void check_dimensions(const std::vector<std::int64_t>& dimensions, const DataFile& file) {
  std::uint64_t elements = 1;
  for (const std::int64_t dimension : dimensions) {
    if (dimension == 0)
      throw DataError({.what = "the IDX file holds no samples",
                       .where = file.path().string(),
                       .remedy = "fetch it again, or name another file"});
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(dimension), &elements) ||
        elements > std::uint64_t{1} << 48)
      throw DataError({.what = "the dimensions in the IDX header are absurd",
                       .where = file.path().string(),
                       .remedy = "the file is damaged: fetch it again"});
  }
}

// Allocates according to the actual content of the file, not to the claims of its header.
std::vector<std::uint8_t> read_elements(DataFile& file, std::uint64_t expected) {
  std::vector<std::uint8_t> elements;
  while (elements.size() < expected) {
    const std::size_t before = elements.size();
    const std::size_t wanted = std::min<std::uint64_t>(expected - before, kReadBytes);
    elements.resize(before + wanted);
    const std::size_t count = file.read(std::span(elements).subspan(before));
    if (count < wanted)
      throw DataError({.what = fmt::format("the IDX file is truncated: its header promises {} "
                                           "bytes of data, but it has {}",
                                           expected, before + count),
                       .where = file.path().string(),
                       .remedy = "fetch it again"});
  }
  std::array<std::uint8_t, 1> excess;
  if (file.read(excess) > 0)
    throw DataError({.what = fmt::format("the IDX file goes on after the {} bytes of data that "
                                         "its header promises",
                                         expected),
                     .where = file.path().string(),
                     .remedy = "it is damaged, or two files in one: fetch it again"});
  return elements;
}

void read_features(const DataSourceConfig& source, const std::string& section,
                   std::int64_t& sample_count, SampleTable& table) {
  DataFile file(source.features);
  const std::vector<std::int64_t> dimensions = read_header(file);
  if (dimensions.size() < 2 || dimensions.size() > 4)
    throw DataError(
        {.what = fmt::format("this IDX file has {} dimension(s): labels have 1, images 3 or 4, "
                             "flat features 2",
                             dimensions.size()),
         .where = file.path().string(),
         .remedy = "name the file of images in " + section +
                   ".features; are features and labels "
                   "swapped?"});
  check_dimensions(dimensions, file);
  sample_count = dimensions[0];
  if (dimensions.size() == 3) table.sample_shape = {1};
  std::uint64_t elements = 1;
  for (const std::int64_t dimension : dimensions) elements *= static_cast<std::uint64_t>(dimension);
  table.sample_shape.insert(table.sample_shape.end(), dimensions.begin() + 1, dimensions.end());
  table.bytes = read_elements(file, elements);
}

void read_labels(const DataSourceConfig& source, std::uint32_t classes, const std::string& section,
                 std::int64_t sample_count, SampleTable& table) {
  DataFile file(source.labels);
  const std::vector<std::int64_t> dimensions = read_header(file);
  if (dimensions.size() != 1)
    throw DataError({.what = fmt::format("this IDX file has {} dimensions: these are no labels",
                                         dimensions.size()),
                     .where = file.path().string(),
                     .remedy = "name the file of labels in " + section +
                               ".labels; are features and labels "
                               "swapped?"});
  check_dimensions(dimensions, file);
  if (dimensions[0] != sample_count)
    throw DataError({.what = fmt::format("there are {} labels, but {} has {} samples",
                                         dimensions[0], source.features.string(), sample_count),
                     .where = file.path().string(),
                     .remedy = "name the features and the labels of the same split in " + section});
  const std::vector<std::uint8_t> labels =
      read_elements(file, static_cast<std::uint64_t>(sample_count));
  for (std::size_t i = 0; i < labels.size(); ++i)
    append_label(labels[i], classes, table,
                 [&] { return fmt::format("{}: sample {} (from 0)", source.labels.string(), i); });
}

}  // namespace

SampleTable read_idx_features(const std::filesystem::path& file) {
  DataSourceConfig source;
  source.features = file;
  SampleTable table;
  std::int64_t sample_count = 0;
  read_features(source, "input", sample_count, table);
  return table;
}

SampleTable read_idx(const DataSourceConfig& source, std::uint32_t classes,
                     const std::string& section) {
  SampleTable table;
  std::int64_t sample_count = 0;
  read_features(source, section, sample_count, table);
  read_labels(source, classes, section, sample_count, table);
  return table;
}

}  // namespace scavenger
