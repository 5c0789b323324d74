#include <limits>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/data/readers/source_readers.h"

namespace scavenger {

SampleTable number_samples(const DataSourceConfig& source, const std::string& section) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (source.samples == 0 || source.samples > kMost || source.first_sample > kMost - source.samples)
    throw DataError({.what = "the data set in Python is empty, or has more than 2^31 samples",
                     .where = section,
                     .remedy = "begin the job with scavenger-train, which counts its samples"});
  SampleTable table;
  table.sample_shape = {1};
  table.bytes.resize(source.samples);
  table.labels.resize(source.samples);
  std::iota(table.labels.begin(), table.labels.end(),
            static_cast<std::int32_t>(source.first_sample));
  return table;
}

}  // namespace scavenger
