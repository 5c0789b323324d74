#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "runtime/data/readers/source_readers.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"

namespace scavenger {

using Catch::Contains;

namespace {

constexpr std::uint32_t kClasses = 3;

std::string idx_error(const DataSourceConfig& source) {
  return data_error_of([&] { read_source(source, kClasses); });
}

}  // namespace

TEST_CASE("IDX images become one-channel samples with their labels") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());

  const SampleTable table = read_source(source, kClasses);

  CHECK(table.feature_type == FeatureType::kUint8);
  CHECK(table.sample_shape == std::vector<std::int64_t>{1, 2, 2});
  CHECK(table.bytes == std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(table.labels == std::vector<std::int32_t>{2, 0, 1});
}

TEST_CASE("IDX files of two and four dimensions give flat samples and images with channels") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  const auto shape_of = [&](const std::vector<std::uint32_t>& dimensions) {
    write_file_atomically(source.features, idx_content(dimensions, std::string(12, 'x')));
    return read_source(source, kClasses).sample_shape;
  };

  CHECK(shape_of({3, 4}) == std::vector<std::int64_t>{4});
  CHECK(shape_of({3, 2, 1, 2}) == std::vector<std::int64_t>{2, 1, 2});
}

TEST_CASE("Gzip is recognised by content, whatever the name") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  const SampleTable plain = read_source(source, kClasses);
  for (const auto& path : {source.features, source.labels})
    write_file_atomically(path, gzip(read_file(path), folder.path()));

  const SampleTable unpacked = read_source(source, kClasses);

  CHECK(unpacked.bytes == plain.bytes);
  CHECK(unpacked.labels == plain.labels);
}

TEST_CASE("An IDX file cut short anywhere is an error that names it") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  const std::string whole = read_file(source.features);

  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file_atomically(source.features, whole.substr(0, size));
    REQUIRE_THAT(idx_error(source), Contains(source.features.string()));
  }

  write_file_atomically(source.features, whole.substr(0, whole.size() - 1));
  CHECK_THAT(idx_error(source), Contains("truncated") && Contains("promises 12 bytes"));
}

TEST_CASE("A gzip file cut short or damaged is an error that names it") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  const std::string whole = gzip(read_file(source.features), folder.path());

  for (std::size_t size = 2; size < whole.size(); ++size) {
    write_file_atomically(source.features, whole.substr(0, size));
    REQUIRE_THAT(idx_error(source), Contains(source.features.string()));
  }

  std::string damaged = whole;
  damaged[whole.size() - 6] ^= 1;  // in the checksum
  write_file_atomically(source.features, damaged);
  CHECK_THAT(idx_error(source), Contains("cannot be read or unpacked"));
}

TEST_CASE("What follows the compressed data of a gzip file is an error, unless it is padding") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  const SampleTable plain = read_source(source, kClasses);
  const std::string whole = gzip(read_file(source.features), folder.path());

  for (const std::string& garbage : {std::string("x"), std::string(200000, '\0') + "\x1f",
                                     std::string("\0PK\x03\x04 another file", 18)}) {
    write_file_atomically(source.features, whole + garbage);
    const std::size_t place = whole.size() + garbage.find_first_not_of('\0');
    CHECK_THAT(idx_error(source), Contains(source.features.string()) &&
                                      Contains(fmt::format("at byte {} something follows", place)));
  }
  for (const std::size_t zeros : {1, 511, 400000}) {
    write_file_atomically(source.features, whole + std::string(zeros, '\0'));
    CHECK(read_source(source, kClasses).bytes == plain.bytes);
  }
}

TEST_CASE("A gzip file of several parts, as `cat` makes it, is read to its end") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  const SampleTable plain = read_source(source, kClasses);
  const std::string content = read_file(source.features);

  write_file_atomically(source.features, gzip(content.substr(0, 7), folder.path()) +
                                             gzip("", folder.path()) +
                                             gzip(content.substr(7), folder.path()));
  CHECK(read_source(source, kClasses).bytes == plain.bytes);
}

TEST_CASE("An IDX file that is longer than its header says is an error") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  write_file_atomically(source.features, read_file(source.features) + "x");

  CHECK_THAT(idx_error(source), Contains("goes on after the 12 bytes"));
}

TEST_CASE("A header that promises terabytes costs no memory") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());

  write_file_atomically(source.features, idx_content({1u << 20, 1u << 12, 1u << 12}, "abc"));
  CHECK_THAT(idx_error(source), Contains("truncated"));

  write_file_atomically(source.features, idx_content({~0u, ~0u, ~0u}, "abc"));
  CHECK_THAT(idx_error(source), Contains("absurd"));
}

TEST_CASE("Features and labels that are swapped are told apart") {
  const TemporaryFolder folder;
  const DataSourceConfig good = write_small_idx(folder.path());
  DataSourceConfig labels_as_features = good;
  labels_as_features.features = good.labels;
  DataSourceConfig features_as_labels = good;
  features_as_labels.labels = good.features;

  CHECK_THAT(idx_error(labels_as_features), Contains(good.labels.string()) && Contains("swapped") &&
                                                Contains("data.train.features"));
  CHECK_THAT(idx_error(features_as_labels), Contains(good.features.string()) &&
                                                Contains("swapped") &&
                                                Contains("data.train.labels"));
}

TEST_CASE("Features and labels of different splits are told apart by their counts") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  write_file_atomically(source.labels, idx_content({4}, {0, 0, 0, 0}));

  CHECK_THAT(idx_error(source), Contains("there are 4 labels") && Contains("has 3 samples") &&
                                    Contains(source.labels.string()) &&
                                    Contains(source.features.string()));
}

TEST_CASE("A file that is no IDX file is an error that says so") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());

  write_file_atomically(source.features, "1,2,3\n4,5,6\n");
  CHECK_THAT(idx_error(source), Contains("not an IDX file") && Contains(source.features.string()));

  std::string floats = idx_content({3, 2, 2}, std::string(48, '\0'));
  floats[2] = 0x0d;
  write_file_atomically(source.features, floats);
  CHECK_THAT(idx_error(source), Contains("0x0d") && Contains("not supported"));
}

TEST_CASE("An IDX file without samples is an error") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());

  write_file_atomically(source.features, "");
  CHECK_THAT(idx_error(source), Contains("is empty"));

  write_file_atomically(source.features, idx_content({0, 2, 2}, ""));
  CHECK_THAT(idx_error(source), Contains("holds no samples"));
}

TEST_CASE("A label out of range is named with its sample and the allowed range") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_small_idx(folder.path());
  write_file_atomically(source.labels, idx_content({3}, {2, 7, 1}));

  CHECK_THAT(idx_error(source), Contains(source.labels.string() + ": sample 1 ") &&
                                    Contains("label 7") && Contains("0 to 2"));
}

TEST_CASE("A data file that cannot be opened is named") {
  const TemporaryFolder folder;
  DataSourceConfig source = write_small_idx(folder.path());
  source.features = folder.path() / "absent";

  CHECK_THAT(idx_error(source), Contains(source.features.string()) && Contains("No such file"));
}

}  // namespace scavenger
