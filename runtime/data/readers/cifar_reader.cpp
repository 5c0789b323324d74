#include <fmt/format.h>

#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/data/readers/data_file.h"
#include "runtime/data/readers/source_readers.h"

namespace scavenger {
namespace {

constexpr std::size_t kImageBytes = 3 * 32 * 32;

// The differences between CIFAR-10 and CIFAR-100: the number of labels in a record, and the index
// of the one that is used.
struct RecordForm {
  const char* name;
  std::size_t labels;
  std::size_t label;
  const char* remedy;
};

RecordForm form_of(const DataSourceConfig& source) {
  if (source.format == DataFormat::kCifar10)
    return {"CIFAR-10", 1, 0, "name the data_batch_*.bin files out of cifar-10-binary.tar.gz"};
  return {"CIFAR-100", 2, source.coarse_labels ? std::size_t{0} : std::size_t{1},
          "name train.bin and test.bin out of cifar-100-binary.tar.gz"};
}

// Appends the images to table.bytes and returns the labels. The labels are not checked yet, since
// the size is the better sign of a file of another kind.
std::vector<std::uint8_t> read_records(DataFile& file, const RecordForm& form, SampleTable& table) {
  std::vector<std::uint8_t> labels;
  std::vector<std::uint8_t> record(form.labels + kImageBytes);
  for (;;) {
    const std::size_t count = file.read(record);
    if (count == 0) return labels;
    if (count < record.size())
      throw DataError(
          {.what = fmt::format("the file ends within record {}: its size is no multiple of the "
                               "{} bytes of a {} record",
                               labels.size(), record.size(), form.name),
           .where = file.path().string(),
           .remedy = std::string("it is truncated, or not of the binary version: ") + form.remedy});
    labels.push_back(record[form.label]);
    table.bytes.insert(table.bytes.end(), record.begin() + static_cast<std::ptrdiff_t>(form.labels),
                       record.end());
  }
}

void append_file(const std::filesystem::path& path, const RecordForm& form, std::uint32_t classes,
                 SampleTable& table) {
  DataFile file(path);
  const std::vector<std::uint8_t> labels = read_records(file, form, table);
  if (labels.empty())
    throw DataError(
        {.what = "the file is empty", .where = path.string(), .remedy = "fetch it again"});
  for (std::size_t i = 0; i < labels.size(); ++i)
    append_label(labels[i], classes, table,
                 [&] { return fmt::format("{}: sample {} (from 0)", path.string(), i); });
}

}  // namespace

SampleTable read_cifar(const DataSourceConfig& source, std::uint32_t classes,
                       const std::string& section) {
  if (source.files.empty())
    throw DataError({.what = "no files are named",
                     .where = section + ".files",
                     .remedy = "list the files of records, such as data_batch_1.bin"});
  SampleTable table;
  table.sample_shape = {3, 32, 32};
  for (const std::filesystem::path& path : source.files)
    append_file(path, form_of(source), classes, table);
  return table;
}

}  // namespace scavenger
