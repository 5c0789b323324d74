// One split of a data set, ready for use: checked, and mapped read-only from a file that all
// processes of this host share.
//
// The first process of a host that opens a data set reads its source files and writes a prepared
// file into the cache folder, under a lock; everyone else waits for it, and from then on an opening
// takes milliseconds. The prepared file is made again when a source file changes its size or time,
// when the settings that decide its content change, or when it is damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/data/prepared_file.h"

namespace scavenger {

// $SCAVENGER_CACHE_DIR, else $XDG_CACHE_HOME/scavenger, else ~/.cache/scavenger. Throws SystemError
// where none of them is set.
std::filesystem::path default_cache_folder();

// Constant after open(), so any thread may read it.
class DataSet final {
 public:
  // Throws DataError where the source files are not what the configuration says (each file is
  // read and checked to the last sample when it is prepared), or where the configured shape,
  // normalisation or augmentation does not fit the samples; SystemError where the cache folder
  // cannot be used.
  static DataSet open(const DataConfig& config, Split split,
                      const std::filesystem::path& cache_folder);

  std::uint32_t size() const { return file_.sample_count(); }  // samples; at least 1
  std::uint32_t classes() const { return classes_; }
  // {channels, height, width} or {features}
  const std::vector<std::int64_t>& sample_shape() const { return sample_shape_; }
  std::uint64_t elements_per_sample() const { return file_.elements_per_sample(); }
  ElementType element_type() const { return file_.element_type(); }
  // Whether this opening had to read the source files.
  bool was_prepared_now() const { return was_prepared_now_; }

  // The raw features of one sample, as they are in the source. Ask for what element_type() says.
  std::span<const std::uint8_t> bytes(std::uint32_t index) const { return file_.bytes(index); }
  std::span<const float> floats(std::uint32_t index) const { return file_.floats(index); }
  // Asks the processor to fetch a sample's raw features into its caches.
  void prefetch(std::uint32_t index) const { file_.prefetch(index); }
  std::int32_t label(std::uint32_t index) const { return file_.labels()[index]; }

 private:
  DataSet(PreparedFile file, bool was_prepared_now, std::uint32_t classes,
          std::vector<std::int64_t> sample_shape);

  PreparedFile file_;
  bool was_prepared_now_;
  std::uint32_t classes_;
  std::vector<std::int64_t> sample_shape_;
};

// Throws DataError where a model trained on one cannot be evaluated on the other.
void check_splits_fit(const DataSet& train, const DataSet& test);

}  // namespace scavenger
