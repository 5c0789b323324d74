#include <algorithm>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/data/readers/source_readers.h"

namespace scavenger {
namespace {

// A fixed seed, so that the data do not change with the job's seed, and runs with different seeds
// stay comparable.
constexpr std::uint64_t kDataSetSeed = 20220413;

// classes x feature_count, row-major.
std::vector<double> make_teacher(std::uint32_t classes, std::uint64_t feature_count) {
  RandomStream stream(kDataSetSeed, "synthetic teacher", {classes, feature_count});
  std::vector<double> teacher(classes * feature_count);
  for (double& weight : teacher) weight = stream.normal();
  return teacher;
}

std::int32_t ask_teacher(const std::vector<double>& teacher, std::span<const float> x) {
  double best_score = 0.0;
  std::int32_t best = -1;
  const auto classes = static_cast<std::int32_t>(teacher.size() / x.size());
  auto weight = teacher.begin();
  for (std::int32_t c = 0; c < classes; ++c) {
    double score = 0.0;
    for (const float value : x) score += *weight++ * static_cast<double>(value);
    if (best < 0 || score > best_score) {
      best_score = score;
      best = c;
    }
  }
  return best;
}

void check_size(const DataSourceConfig& source, const std::string& section) {
  constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 34;
  if (source.samples > 0 && source.feature_count > 0 &&
      source.samples <= kMaxElements / source.feature_count)
    return;
  throw DataError({.what = "the synthetic data set is empty, or has more than 2^34 values",
                   .where = section,
                   .remedy = "set samples and feature_count to smaller, positive numbers"});
}

}  // namespace

SampleTable make_synthetic_samples(const DataSourceConfig& source, std::uint32_t classes,
                                   const std::string& section) {
  check_size(source, section);
  const std::vector<double> teacher = make_teacher(classes, source.feature_count);
  SampleTable table;
  table.feature_type = FeatureType::kFloat32;
  table.sample_shape = {static_cast<std::int64_t>(source.feature_count)};
  table.floats.resize(source.samples * source.feature_count);
  table.labels.reserve(source.samples);
  for (std::uint64_t i = 0; i < source.samples; ++i) {
    RandomStream stream(kDataSetSeed, "synthetic", {source.first_sample + i});
    const std::span<float> x =
        std::span(table.floats).subspan(i * source.feature_count, source.feature_count);
    for (float& value : x) value = static_cast<float>(stream.normal());
    std::int32_t label = ask_teacher(teacher, x);
    if (stream.uniform() < source.label_noise)
      label = static_cast<std::int32_t>(stream.below(classes));
    table.labels.push_back(label);
  }
  return table;
}

}  // namespace scavenger
