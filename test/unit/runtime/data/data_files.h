// Small data files for the tests of the readers.
#pragma once

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/config/job_config.h"
#include "runtime/data/readers/source_readers.h"

namespace scavenger {

inline std::string idx_content(const std::vector<std::uint32_t>& dimensions,
                               const std::string& elements) {
  std::string content = {0, 0, 8, static_cast<char>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions)
    for (int shift = 24; shift >= 0; shift -= 8) content += static_cast<char>(dimension >> shift);
  return content + elements;
}

inline std::string gzip(const std::string& content, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "gzip.tmp";
  gzFile file = gzopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error("cannot create " + path.string());
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  return read_file(path);
}

// Three 2x2 images with the bytes 0..11, and their labels 2, 0, 1.
inline DataSourceConfig write_small_idx(const std::filesystem::path& folder) {
  std::string pixels;
  for (char value = 0; value < 12; ++value) pixels += value;
  DataSourceConfig source;
  source.format = DataFormat::kIdx;
  source.features = folder / "images";
  source.labels = folder / "labels";
  write_file_atomically(source.features, idx_content({3, 2, 2}, pixels));
  write_file_atomically(source.labels, idx_content({3}, {2, 0, 1}));
  return source;
}

inline DataSourceConfig write_csv(const std::filesystem::path& folder, const std::string& content) {
  DataSourceConfig source;
  source.format = DataFormat::kCsv;
  source.files = {folder / "samples.csv"};
  source.label_column = "last";
  write_file_atomically(source.files[0], content);
  return source;
}

// What the reader makes of one split.
inline SampleTable read_source(const DataSourceConfig& source, std::uint32_t classes,
                               Split split = Split::kTrain) {
  DataConfig data;
  data.classes = classes;
  (split == Split::kTrain ? data.train : data.test) = source;
  return read_samples(data, split);
}

// The text of the DataError that `action` throws; it must name a place and a remedy.
template <typename Action>
std::string data_error_of(const Action& action) {
  try {
    action();
  } catch (const DataError& error) {
    CHECK(!error.problem().where.empty());
    CHECK(!error.problem().remedy.empty());
    return error.what();
  }
  FAIL("no DataError was thrown");
  return {};
}

// Real data sets, which not every machine has.
inline std::filesystem::path shared_data_folder() {
  const char* folder = std::getenv("SCAVENGER_SHARED_DATA");
  return folder != nullptr ? folder : SCAVENGER_SHARED_DATA_DEFAULT;
}
inline const std::filesystem::path kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

}  // namespace scavenger
