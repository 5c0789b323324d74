// One split of a data set, ready for use: it has been checked, and is mapped read-only from a file
// that all processes of this host share.
//
// The first process of a host that opens a data set reads its source files and writes a prepared
// file into the cache folder, under a lock. Other processes wait for it; after that, opening takes
// milliseconds. The prepared file is made again if a source file changes its size or time, if the
// settings that decide its content change, or if it is damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/data/prepared_file.h"
#include "runtime/data/readers/sample_table.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Returns $SCAVENGER_CACHE_DIR, or else $XDG_CACHE_HOME/scavenger, or else ~/.cache/scavenger.
// Throws SystemError if none of the variables is set.
std::filesystem::path default_cache_folder();

// Constant after open(), so any thread may read it.
class DataSet final {
 public:
  // Throws DataError if the source files do not match the configuration (each file is read and
  // checked completely when it is prepared), or if the configured shape, normalisation or
  // augmentation does not fit the samples; SystemError if the cache folder cannot be used.
  static DataSet open(const DataConfig& config, Split split,
                      const std::filesystem::path& cache_folder);

  // Makes a data set of samples without known targets, which are set to zero. Only the features of
  // `table` are used; `shape` is that of the job's data. Throws DataError, with the place `where`,
  // if the features do not fit the shape.
  static DataSet of_unlabelled(SampleTable table, const DataConfig& config, const DataShape& shape,
                               const std::string& where);

  std::uint32_t size() const { return size_; }  // samples; at least 1
  const DataShape& shape() const { return shape_; }
  std::uint32_t classes() const { return shape_.classes; }
  const std::vector<std::int64_t>& sample_shape() const { return shape_.sample_shape; }
  std::uint64_t elements_per_sample() const { return file_.elements_per_sample(); }
  FeatureType feature_type() const { return file_.feature_type(); }
  // Returns whether open() had to read the source files.
  bool was_prepared_now() const { return was_prepared_now_; }

  // The raw features of one sample, as they are in the source. Requires the type that
  // feature_type() returns.
  std::span<const std::uint8_t> bytes(std::uint32_t index) const { return file_.bytes(index); }
  std::span<const float> floats(std::uint32_t index) const { return file_.floats(index); }
  // Asks the processor to fetch a sample's raw features into its caches.
  void prefetch(std::uint32_t index) const { file_.prefetch(index); }
  std::int32_t label(std::uint32_t index) const { return file_.labels()[index]; }
  std::uint64_t values_per_sample() const { return values_per_sample_; }
  std::span<const float> values(std::uint32_t index) const {
    return file_.values().subspan(index * values_per_sample_, values_per_sample_);
  }

  // Text, in the form that SampleTable describes.
  std::span<const std::int32_t> running_tokens() const { return file_.tokens(); }
  std::span<const std::int32_t> source_tokens(std::uint32_t index) const {
    return part(file_.tokens(), file_.token_ends(), index);
  }
  std::span<const std::int32_t> target_tokens(std::uint32_t index) const {
    return part(file_.target_tokens(), file_.target_ends(), index);
  }
  // Vocabulary::text() of the tokens' vocabulary; empty if there are no tokens.
  std::string_view vocabulary() const { return file_.vocabulary(); }
  std::string_view target_vocabulary() const { return file_.target_vocabulary(); }

 private:
  DataSet(PreparedFile file, bool was_prepared_now, std::uint32_t size, DataShape shape);

  static std::span<const std::int32_t> part(std::span<const std::int32_t> tokens,
                                            std::span<const std::uint64_t> ends,
                                            std::uint32_t index) {
    return tokens.subspan(ends[index], ends[index + 1] - ends[index]);
  }

  PreparedFile file_;
  bool was_prepared_now_;
  std::uint32_t size_;
  std::uint64_t values_per_sample_;
  DataShape shape_;
};

// Throws DataError if a model trained on `train` cannot be evaluated on `test`.
void check_splits_fit(const DataSet& train, const DataSet& test);

}  // namespace scavenger
