#include "runtime/data/readers/source_readers.h"

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace scavenger {

SampleTable read_samples(const DataConfig& data, Split split) {
  const bool is_train = split == Split::kTrain;
  const DataSourceConfig& source = is_train ? data.train : data.test;
  const std::string section = is_train ? "data.train" : "data.test";
  const std::uint32_t classes = data.classes;
  switch (source.format) {
    case DataFormat::kIdx:
      return read_idx(source, classes, section);
    case DataFormat::kCifar10:
    case DataFormat::kCifar100:
      return read_cifar(source, classes, section);
    case DataFormat::kCsv:
      return read_csv(source, classes, section);
    case DataFormat::kArrays:
      return read_arrays(source, classes, section);
    case DataFormat::kText:
    case DataFormat::kParallelText:
      return read_text(data, split);
    case DataFormat::kSynthetic:
      return make_synthetic_samples(source, classes, section);
    case DataFormat::kPython:
    case DataFormat::kImageFolder:
    case DataFormat::kTable:
    case DataFormat::kHuggingFace:
    case DataFormat::kWebDataset:
      return number_samples(source, section);
  }
  __builtin_unreachable();
}

void throw_label_error(std::int64_t label, std::uint32_t classes, const std::string& where) {
  throw DataError(
      {.what = fmt::format("label {} is out of range: {} classes have labels 0 to {}", label,
                           classes, classes - 1),
       .where = where,
       .remedy = "set data.classes to the number of classes, or number the labels from 0"});
}

}  // namespace scavenger
