#include "runtime/data/data_set.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/data/file_lock.h"
#include "runtime/data/source_identity.h"
#include "runtime/data/source_readers.h"

namespace scavenger {
namespace {

using Shape = std::vector<std::int64_t>;

std::string to_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::filesystem::path folder_from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void create_cache_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw SystemError(error.value(),
                      {.what = "cannot create the cache folder",
                       .where = folder.string(),
                       .remedy = "set SCAVENGER_CACHE_DIR to a folder that you can write"});
}

SampleTable read_checked(const DataSourceConfig& source, std::uint32_t classes,
                         const std::string& section) {
  SampleTable table = read_samples(source, classes, section);
  if (table.labels.size() > std::numeric_limits<std::uint32_t>::max())
    throw DataError({.what = fmt::format("{} samples are too many", table.labels.size()),
                     .where = section,
                     .remedy = "use at most 4294967295 samples"});
  return table;
}

struct Opened {
  PreparedFile file;
  bool was_prepared_now;
};

Opened open_or_prepare(const DataSourceConfig& source, std::uint32_t classes,
                       const std::string& section, const std::filesystem::path& cache_folder) {
  const SourceIdentity identity = identify_source(source, classes, section);
  const std::filesystem::path path = cache_folder / identity.file_name;
  if (auto current = PreparedFile::open_if_current(path, identity.key))
    return {.file = std::move(*current), .was_prepared_now = false};
  create_cache_folder(cache_folder);
  const FileLock lock(path.string() + ".lock");
  // While we waited, another process may have done it.
  if (auto current = PreparedFile::open_if_current(path, identity.key))
    return {.file = std::move(*current), .was_prepared_now = false};
  write_prepared_file(path, read_checked(source, classes, section), identity.key);
  auto prepared = PreparedFile::open_if_current(path, identity.key);
  SCAVENGER_CHECK(prepared.has_value());
  return {.file = std::move(*prepared), .was_prepared_now = true};
}

Shape choose_shape(const DataConfig& config, const PreparedFile& file, const std::string& section) {
  if (config.sample_shape.empty()) return file.sample_shape();
  std::uint64_t elements = 1;
  for (const std::int64_t dimension : config.sample_shape)
    elements *= static_cast<std::uint64_t>(dimension);
  if (elements != file.elements_per_sample())
    throw DataError({.what = fmt::format("the samples of {} have shape {}, {} values; that does "
                                         "not fit {}",
                                         section, to_text(file.sample_shape()),
                                         file.elements_per_sample(), to_text(config.sample_shape)),
                     .where = "data.sample_shape",
                     .remedy = "leave data.sample_shape out, or make its product the same"});
  return config.sample_shape;
}

void check_normalisation(const DataConfig& config, const Shape& shape) {
  if (!config.normalise) return;
  const std::size_t count = config.normalise->mean.size();
  if (count != 1 && count != static_cast<std::size_t>(shape[0]))
    throw DataError({.what = fmt::format("there are {} means, but the samples, of shape {}, have "
                                         "{} channel(s)",
                                         count, to_text(shape), shape[0]),
                     .where = "data.normalise.mean",
                     .remedy = "give one number for each channel, or one for all"});
}

void check_augmentation(const DataConfig& config, const Shape& shape) {
  if (!config.augment.flip && config.augment.crop_padding == 0) return;
  if (shape.size() != 3)
    throw DataError({.what = fmt::format("samples of shape {} are no images, so they cannot be "
                                         "flipped or cropped",
                                         to_text(shape)),
                     .where = "data.augment",
                     .remedy = "leave it out, or set data.sample_shape to [channels, height, "
                               "width]"});
}

}  // namespace

std::filesystem::path default_cache_folder() {
  const std::filesystem::path own = folder_from_environment("SCAVENGER_CACHE_DIR");
  if (!own.empty()) return own;
  const std::filesystem::path caches = folder_from_environment("XDG_CACHE_HOME");
  if (!caches.empty()) return caches / "scavenger";
  const std::filesystem::path home = folder_from_environment("HOME");
  if (!home.empty()) return home / ".cache" / "scavenger";
  throw SystemError({.what = "there is no place for prepared data: HOME is not set",
                     .where = "environment",
                     .remedy = "set SCAVENGER_CACHE_DIR to a folder that you can write"});
}

DataSet DataSet::open(const DataConfig& config, Split split,
                      const std::filesystem::path& cache_folder) {
  SCAVENGER_CHECK(config.classes > 0);
  const bool is_train = split == Split::kTrain;
  const std::string section = is_train ? "data.train" : "data.test";
  Opened opened =
      open_or_prepare(is_train ? config.train : config.test, config.classes, section, cache_folder);
  Shape shape = choose_shape(config, opened.file, section);
  check_normalisation(config, shape);
  check_augmentation(config, shape);
  return DataSet(std::move(opened.file), opened.was_prepared_now, config.classes, std::move(shape));
}

DataSet::DataSet(PreparedFile file, bool was_prepared_now, std::uint32_t classes, Shape shape)
    : file_(std::move(file)),
      was_prepared_now_(was_prepared_now),
      classes_(classes),
      sample_shape_(std::move(shape)) {}

void check_splits_fit(const DataSet& train, const DataSet& test) {
  if (train.sample_shape() == test.sample_shape()) return;
  throw DataError({.what = fmt::format("training samples have shape {}, test samples {}",
                                       to_text(train.sample_shape()), to_text(test.sample_shape())),
                   .where = "data.test",
                   .remedy = "use two splits of the same data set"});
}

}  // namespace scavenger
