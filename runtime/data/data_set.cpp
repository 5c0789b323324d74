#include "runtime/data/data_set.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/data/file_lock.h"
#include "runtime/data/readers/source_readers.h"
#include "runtime/data/source_identity.h"

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

std::string section_of(Split split) {
  return split == Split::kTrain ? "data.train" : "data.test";
}

// Removes the access rights of other users, since prepared files may contain private data. Does not
// change a folder or file that another user owns, or that is on a read-only file system.
void take_from_others(const std::filesystem::path& path, mode_t mode) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid() &&
      (status.st_mode & 0077) != 0) [[maybe_unused]]
    const int refused = ::chmod(path.c_str(), mode);
}

// Does not change the rights of a folder that the user has chosen, since it may contain other
// files.
void take_cache_from_others(const std::filesystem::path& folder,
                            const std::filesystem::path& prepared) {
  if (folder != folder_from_environment("SCAVENGER_CACHE_DIR")) take_from_others(folder, 0700);
  take_from_others(prepared, 0600);
}

void require_readable(const std::filesystem::path& prepared) {
  if (::access(prepared.c_str(), R_OK) == 0 || errno == ENOENT) return;
  throw SystemError(errno, {.what = "cannot read the prepared data set",
                            .where = prepared.string(),
                            .remedy = "set SCAVENGER_CACHE_DIR to a folder of your own"});
}

void create_cache_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) take_from_others(folder, 0700);
  if (error)
    throw SystemError(error.value(),
                      {.what = "cannot create the cache folder",
                       .where = folder.string(),
                       .remedy = "set SCAVENGER_CACHE_DIR to a folder that you can write"});
}

SampleTable read_checked(const DataConfig& config, Split split) {
  SampleTable table = read_samples(config, split);
  if (table.sample_count() > std::numeric_limits<std::uint32_t>::max())
    throw DataError({.what = fmt::format("{} samples are too many", table.sample_count()),
                     .where = section_of(split),
                     .remedy = "use at most 4294967295 samples"});
  return table;
}

struct Opened {
  PreparedFile file;
  bool was_prepared_now;
};

Opened open_or_prepare(const DataConfig& config, Split split,
                       const std::filesystem::path& cache_folder) {
  const SourceIdentity identity = identify_source(config, split);
  const std::filesystem::path path = cache_folder / identity.file_name;
  take_cache_from_others(cache_folder, path);
  require_readable(path);
  if (auto current = PreparedFile::open_if_current(path, identity.key))
    return {.file = std::move(*current), .was_prepared_now = false};
  create_cache_folder(cache_folder);
  const FileLock lock(path.string() + ".lock");
  // Another process may have written it while this one waited.
  if (auto current = PreparedFile::open_if_current(path, identity.key))
    return {.file = std::move(*current), .was_prepared_now = false};
  write_prepared_file(path, read_checked(config, split), identity.key);
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
  std::filesystem::path own = folder_from_environment("SCAVENGER_CACHE_DIR");
  if (!own.empty()) return own;
  const std::filesystem::path caches = folder_from_environment("XDG_CACHE_HOME");
  if (!caches.empty()) return caches / "scavenger";
  const std::filesystem::path home = folder_from_environment("HOME");
  if (!home.empty()) return home / ".cache" / "scavenger";
  throw SystemError({.what = "there is no place for prepared data: HOME is not set",
                     .where = "environment",
                     .remedy = "set SCAVENGER_CACHE_DIR to a folder that you can write"});
}

namespace {

// A folder that the destructor removes. Files in it that are mapped stay valid.
class TemporaryFolder final {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "scavenger-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw SystemError(errno, {.what = "cannot make a temporary folder",
                                .where = name,
                                .remedy = "set TMPDIR to a folder that you can write"});
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::uint32_t words_in(std::string_view vocabulary) {
  return static_cast<std::uint32_t>(std::ranges::count(vocabulary, '\n'));
}

DataShape shape_of_text(const DataConfig& config, const PreparedFile& file) {
  const std::uint32_t vocabulary = words_in(file.vocabulary());
  if (config.train.format == DataFormat::kText)
    return {.sample_shape = {config.sequence_length},
            .vocabulary = vocabulary,
            .target = TargetKind::kNextTokens,
            .classes = vocabulary,
            .target_shape = {config.sequence_length}};
  return {.sample_shape = {std::int64_t{config.max_length} + 1},
          .vocabulary = vocabulary,
          .target = TargetKind::kSequence,
          .classes = words_in(file.target_vocabulary()),
          .target_shape = {std::int64_t{config.max_length} + 2}};
}

DataShape shape_of(const DataConfig& config, const PreparedFile& file, const std::string& section) {
  if (is_text(config.train.format)) return shape_of_text(config, file);
  DataShape shape;
  if (is_python(config.train.format)) {  // samples are numbers here; Python makes them
    shape.sample_shape = file.sample_shape();
  } else {
    shape.sample_shape = choose_shape(config, file, section);
    check_normalisation(config, shape.sample_shape);
    check_augmentation(config, shape.sample_shape);
  }
  shape.classes = config.classes;
  if (config.classes > 0) return shape;
  shape.target = TargetKind::kValues;
  shape.target_shape = file.target_shape();
  return shape;
}

// Each epoch of training cuts running text at other places, which costs one sequence.
std::uint64_t sample_count(const DataConfig& config, Split split, const PreparedFile& file) {
  if (config.train.format != DataFormat::kText) return file.sample_count();
  const std::uint64_t tokens = file.tokens().size(), length = config.sequence_length;
  const std::uint64_t needed = split == Split::kTrain ? 2 * length : length + 1;
  if (tokens < needed)
    throw DataError(
        {.what = fmt::format("{} tokens are too few for sequences of {}", tokens, length),
         .where = section_of(split),
         .remedy = "use more text, or lower data.sequence_length"});
  return split == Split::kTrain ? (tokens - length) / length : (tokens - 1) / length;
}

std::uint64_t elements_in(const Shape& shape) {
  std::uint64_t result = 1;
  for (const std::int64_t size : shape) result *= static_cast<std::uint64_t>(size);
  return result;
}

}  // namespace

DataSet DataSet::open(const DataConfig& config, Split split,
                      const std::filesystem::path& cache_folder) {
  Opened opened = open_or_prepare(config, split, cache_folder);
  DataShape shape = shape_of(config, opened.file, section_of(split));
  const auto size = static_cast<std::uint32_t>(sample_count(config, split, opened.file));
  return DataSet(std::move(opened.file), opened.was_prepared_now, size, std::move(shape));
}

DataSet DataSet::of_unlabelled(SampleTable table, const DataConfig& config, const DataShape& shape,
                               const std::string& where) {
  const std::uint64_t elements = elements_in(shape.sample_shape);
  const std::uint64_t features =
      table.feature_type == FeatureType::kUint8 ? table.bytes.size() : table.floats.size();
  if (elements_in(table.sample_shape) != elements)
    throw DataError({.what = fmt::format("samples of shape {} do not fit the model, which was "
                                         "trained on {}",
                                         to_text(table.sample_shape), to_text(shape.sample_shape)),
                     .where = where,
                     .remedy = "give samples as those of the job's data"});
  const std::uint64_t samples = features / elements;
  if (samples > std::numeric_limits<std::uint32_t>::max())
    throw DataError({.what = fmt::format("{} samples are too many", samples),
                     .where = where,
                     .remedy = "use at most 4294967295 samples a file"});
  table.target_shape = shape.target_shape;
  table.labels.clear();
  table.values.clear();
  if (shape.target == TargetKind::kValues)
    table.values.resize(samples * elements_in(shape.target_shape));
  else
    table.labels.resize(samples);
  const Digest key{};
  const TemporaryFolder folder;
  write_prepared_file(folder.path() / "input", table, key);
  auto prepared = PreparedFile::open_if_current(folder.path() / "input", key);
  SCAVENGER_CHECK(prepared.has_value());
  check_normalisation(config, shape.sample_shape);
  return DataSet(std::move(*prepared), true, static_cast<std::uint32_t>(samples), shape);
}

DataSet::DataSet(PreparedFile file, bool was_prepared_now, std::uint32_t size, DataShape shape)
    : file_(std::move(file)),
      was_prepared_now_(was_prepared_now),
      size_(size),
      values_per_sample_(elements_in(shape.target_shape)),
      shape_(std::move(shape)) {}

void check_splits_fit(const DataSet& train, const DataSet& test) {
  const auto require_same = [](const Shape& a, const Shape& b, const char* what) {
    if (a == b) return;
    throw DataError({.what = fmt::format("training {} have shape {}, test {} {}", what, to_text(a),
                                         what, to_text(b)),
                     .where = "data.test",
                     .remedy = "use two splits of the same data set"});
  };
  require_same(train.shape().sample_shape, test.shape().sample_shape, "samples");
  require_same(train.shape().target_shape, test.shape().target_shape, "targets");
}

}  // namespace scavenger
