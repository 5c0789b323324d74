#include <fmt/format.h>

#include <cmath>
#include <string>

#include "runtime/base/error.h"
#include "runtime/data/readers/number_array.h"
#include "runtime/data/readers/source_readers.h"

namespace scavenger {
namespace {

std::vector<std::int64_t> shape_of_sample(const NumberArray& array) {
  if (array.shape.size() < 2) return {1};
  return {array.shape.begin() + 1, array.shape.end()};
}

void check_form(const NumberArray& array, std::size_t most_dimensions, const std::string& where) {
  if (array.size() == 0 || array.shape.empty())
    throw DataError({.what = "the array is empty",
                     .where = where,
                     .remedy = "use an array whose first dimension counts the samples"});
  if (array.shape.size() > most_dimensions)
    throw DataError({.what = fmt::format("the array has {} dimensions", array.shape.size()),
                     .where = where,
                     .remedy = fmt::format("use at most {}, of which the first counts the samples",
                                           most_dimensions)});
}

float finite_number(const NumberArray& array, std::uint64_t index, const std::string& where) {
  const auto value = static_cast<float>(array.at(index));
  if (std::isfinite(value)) return value;
  const std::uint64_t of_one = array.size() / static_cast<std::uint64_t>(array.shape[0]);
  throw DataError({.what = "a value is not a finite number",
                   .where = fmt::format("{}: sample {} (from 0)", where, index / of_one),
                   .remedy = "take the sample out, or replace the value"});
}

void take_features(NumberArray array, const std::string& where, SampleTable& table) {
  table.sample_shape = shape_of_sample(array);
  if (array.type == "u1") {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(array.bytes.data());
    table.bytes.assign(bytes, bytes + array.bytes.size());
    return;
  }
  table.feature_type = FeatureType::kFloat32;
  for (std::uint64_t i = 0; i < array.size(); ++i)
    table.floats.push_back(finite_number(array, i, where));
}

void take_labels(const NumberArray& array, std::uint32_t classes, const std::string& where,
                 SampleTable& table) {
  if (array.size() != static_cast<std::uint64_t>(array.shape[0]))
    throw DataError({.what = "there are several labels for each sample",
                     .where = where,
                     .remedy = "give one each, or leave out data.classes where they are values"});
  for (std::uint64_t i = 0; i < array.size(); ++i) {
    const double label = array.at(i);
    const auto place = [&] { return fmt::format("{}: sample {} (from 0)", where, i); };
    if (label != std::floor(label) || std::abs(label) > 1e15)
      throw DataError({.what = fmt::format("label {} is not a whole number", label),
                       .where = place(),
                       .remedy = "number the classes from 0, or leave out data.classes"});
    append_label(static_cast<std::int64_t>(label), classes, table, place);
  }
}

}  // namespace

SampleTable read_array_features(const std::filesystem::path& file, const std::string& name) {
  NumberArray features = read_number_array(file, name, "the job's features_name");
  check_form(features, 4, file.string());
  SampleTable table;
  take_features(std::move(features), file.string(), table);
  return table;
}

SampleTable read_arrays(const DataSourceConfig& source, std::uint32_t classes,
                        const std::string& section) {
  const std::string features_place = source.features.string(),
                    labels_place = source.labels.string();
  NumberArray features =
      read_number_array(source.features, source.features_name, section + ".features_name");
  const NumberArray labels =
      read_number_array(source.labels, source.labels_name, section + ".labels_name");
  check_form(features, 4, features_place);
  check_form(labels, 4, labels_place);
  if (features.shape[0] != labels.shape[0])
    throw DataError({.what = fmt::format("there are {} samples in {} and {} targets here",
                                         features.shape[0], features_place, labels.shape[0]),
                     .where = labels_place,
                     .remedy = "give x and y the same first dimension"});
  SampleTable table;
  if (classes > 0) {
    take_labels(labels, classes, labels_place, table);
  } else {
    table.target_shape = shape_of_sample(labels);
    for (std::uint64_t i = 0; i < labels.size(); ++i)
      table.values.push_back(finite_number(labels, i, labels_place));
  }
  take_features(std::move(features), features_place, table);
  return table;
}

}  // namespace scavenger
