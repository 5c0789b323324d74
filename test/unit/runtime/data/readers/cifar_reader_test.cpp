#include <catch2/catch.hpp>

#include "runtime/data/readers/source_readers.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"

namespace scavenger {

using Catch::Contains;

namespace {

std::string record(char label, char pixel) {
  return label + std::string(3072, pixel);
}

DataSourceConfig write_batches(const std::filesystem::path& folder,
                               const std::vector<std::string>& batches) {
  DataSourceConfig source;
  source.format = DataFormat::kCifar10;
  for (const std::string& batch : batches) {
    source.files.push_back(folder / ("batch_" + std::to_string(source.files.size()) + ".bin"));
    write_file_atomically(source.files.back(), batch);
  }
  return source;
}

std::string cifar_error(const DataSourceConfig& source) {
  return data_error_of([&] { read_source(source, 10, Split::kTest); });
}

}  // namespace

TEST_CASE("CIFAR-10 batches follow one another") {
  const TemporaryFolder folder;
  const DataSourceConfig source =
      write_batches(folder.path(), {record(3, 'a') + record(9, 'b'), record(0, 'c')});

  const SampleTable table = read_source(source, 10, Split::kTest);

  CHECK(table.sample_shape == std::vector<std::int64_t>{3, 32, 32});
  CHECK(table.labels == std::vector<std::int32_t>{3, 9, 0});
  REQUIRE(table.bytes.size() == 3 * 3072);
  CHECK(table.bytes[3071] == 'a');
  CHECK(table.bytes[3072] == 'b');
  CHECK(table.bytes.back() == 'c');
}

TEST_CASE("A CIFAR-10 batch that ends within a record is an error that names it") {
  const TemporaryFolder folder;
  const DataSourceConfig source =
      write_batches(folder.path(), {record(1, 'a'), (record(1, 'a') + record(2, 'b')).substr(1)});

  CHECK_THAT(cifar_error(source),
             Contains(source.files[1].string()) && Contains("within record 1"));
}

TEST_CASE("An empty CIFAR-10 batch, and no batch at all, are errors") {
  const TemporaryFolder folder;

  CHECK_THAT(cifar_error(write_batches(folder.path(), {record(1, 'a'), ""})),
             Contains("batch_1.bin") && Contains("is empty"));
  CHECK_THAT(cifar_error(write_batches(folder.path(), {})), Contains("data.test.files"));
}

TEST_CASE("A CIFAR-10 label out of range is named with its file and sample") {
  const TemporaryFolder folder;
  const DataSourceConfig source =
      write_batches(folder.path(), {record(1, 'a'), record(2, 'b') + record(10, 'c')});

  CHECK_THAT(cifar_error(source), Contains(source.files[1].string() + ": sample 1 ") &&
                                      Contains("label 10") && Contains("0 to 9"));
}

TEST_CASE("CIFAR-100 has two labels, of which one is ours") {
  const TemporaryFolder folder;
  DataSourceConfig source = write_batches(
      folder.path(), {std::string("\x05") + record(77, 'a') + "\x07" + record(9, 'b')});
  source.format = DataFormat::kCifar100;

  const SampleTable fine = read_source(source, 100);
  source.coarse_labels = true;
  const SampleTable coarse = read_source(source, 20);

  CHECK(fine.labels == std::vector<std::int32_t>{77, 9});
  CHECK(coarse.labels == std::vector<std::int32_t>{5, 7});
  CHECK(fine.bytes.size() == 2 * 3072);
  CHECK(fine.bytes.back() == 'b');
  CHECK_THAT(data_error_of([&] { read_source(source, 6); }),
             Contains("sample 1") && Contains("label 7"));
}

}  // namespace scavenger
