#include <string>

#include "runtime/base/error.h"
#include "runtime/data/readers/source_readers.h"

namespace scavenger {
namespace {

bool holds_arrays(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".npy" || ending == ".npz" || ending == ".safetensors";
}

}  // namespace

SampleTable read_unlabelled(const DataConfig& data, const std::filesystem::path& file,
                            std::uint64_t features) {
  const DataSourceConfig& known = data.test;
  if (holds_arrays(file)) return read_array_features(file, known.features_name);
  if (known.format == DataFormat::kIdx) return read_idx_features(file);
  DataSourceConfig source = known;
  source.files = {file};
  if (is_cifar(known.format)) return read_cifar(source, data.classes, "input");
  if (known.format == DataFormat::kCsv) return read_csv_features(source, features);
  if (file.extension() == ".csv") {
    source.label_column = "last";
    return read_csv_features(source, features);
  }
  throw DataError({.what = "samples of this kind cannot be read",
                   .where = file.string(),
                   .remedy = "give a .npy, .npz, .safetensors or .csv file of their features"});
}

}  // namespace scavenger
