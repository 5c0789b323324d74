#include "runtime/data/source_readers.h"

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace scavenger {

SampleTable read_samples(const DataSourceConfig& source, std::uint32_t classes,
                         const std::string& section) {
  switch (source.format) {
    case DataFormat::kIdx:
      return read_idx(source, classes, section);
    case DataFormat::kCifar10:
      return read_cifar10(source, classes, section);
    case DataFormat::kCsv:
      return read_csv(source, classes, section);
    case DataFormat::kSynthetic:
      return make_synthetic_samples(source, classes, section);
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
