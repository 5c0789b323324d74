#include <fmt/format.h>

#include <array>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/data/data_file.h"
#include "runtime/data/source_readers.h"

namespace scavenger {
namespace {

constexpr std::size_t kImageBytes = 3 * 32 * 32;
using Record = std::array<std::uint8_t, 1 + kImageBytes>;

// Appends the images to table.bytes and returns the labels, which are not checked yet: a file of
// another kind is best told by its size.
std::vector<std::uint8_t> read_records(DataFile& file, SampleTable& table) {
  std::vector<std::uint8_t> labels;
  Record record;
  for (;;) {
    const std::size_t count = file.read(record);
    if (count == 0) return labels;
    if (count < record.size())
      throw DataError(
          {.what = fmt::format("the file ends within record {}: its size is no multiple of the "
                               "{} bytes of a CIFAR-10 record",
                               labels.size(), record.size()),
           .where = file.path().string(),
           .remedy = "it is truncated, or not of the binary version: name the data_batch_*.bin "
                     "files out of cifar-10-binary.tar.gz"});
    labels.push_back(record[0]);
    table.bytes.insert(table.bytes.end(), record.begin() + 1, record.end());
  }
}

void append_file(const std::filesystem::path& path, std::uint32_t classes, SampleTable& table) {
  DataFile file(path);
  const std::vector<std::uint8_t> labels = read_records(file, table);
  if (labels.empty())
    throw DataError(
        {.what = "the file is empty", .where = path.string(), .remedy = "fetch it again"});
  for (std::size_t i = 0; i < labels.size(); ++i)
    append_label(labels[i], classes, table,
                 [&] { return fmt::format("{}: sample {} (from 0)", path.string(), i); });
}

}  // namespace

SampleTable read_cifar10(const DataSourceConfig& source, std::uint32_t classes,
                         const std::string& section) {
  if (source.files.empty())
    throw DataError({.what = "no files are named",
                     .where = section + ".files",
                     .remedy = "list the CIFAR-10 batches, such as data_batch_1.bin"});
  SampleTable table;
  table.sample_shape = {3, 32, 32};
  for (const std::filesystem::path& path : source.files) append_file(path, classes, table);
  return table;
}

}  // namespace scavenger
