// The readers against files that others wrote. Expected numbers: MNIST's and CIFAR-10's documented
// sizes (of the subsets in the shared folder), and optdigits.names.
#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/data/data_set.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"

namespace scavenger {
namespace {

bool is_missing(const std::filesystem::path& path) {
  if (std::filesystem::exists(path)) return false;
  WARN("skipped: there is no " << path.string());
  return true;
}

DataSourceConfig idx_source(const std::filesystem::path& features,
                            const std::filesystem::path& labels) {
  DataSourceConfig source;
  source.format = DataFormat::kIdx;
  source.features = features;
  source.labels = labels;
  return source;
}

DataSet open_train(const DataSourceConfig& source, const std::filesystem::path& cache) {
  DataConfig config;
  config.classes = 10;
  config.train = source;
  return DataSet::open(config, Split::kTrain, cache);
}

std::vector<int> class_counts(const DataSet& data) {
  std::vector<int> counts(data.classes(), 0);
  for (std::uint32_t i = 0; i < data.size(); ++i) ++counts[static_cast<std::size_t>(data.label(i))];
  return counts;
}

double mean_byte(const DataSet& data) {
  double sum = 0.0;
  for (std::uint32_t i = 0; i < data.size(); ++i)
    sum += std::accumulate(data.bytes(i).begin(), data.bytes(i).end(), 0.0);
  return sum / (static_cast<double>(data.size()) * static_cast<double>(data.elements_per_sample()));
}

}  // namespace

TEST_CASE("Debian's Fashion-MNIST is read from gzip") {
  if (is_missing(kFashionMnistFolder)) return;
  const TemporaryFolder cache;

  const DataSet data = open_train(idx_source(kFashionMnistFolder / "train-images-idx3-ubyte.gz",
                                             kFashionMnistFolder / "train-labels-idx1-ubyte.gz"),
                                  cache.path());

  CHECK(data.size() == 60000);
  CHECK(data.sample_shape() == std::vector<std::int64_t>{1, 28, 28});
  CHECK(class_counts(data) == std::vector<int>(10, 6000));
  CHECK(mean_byte(data) / 255.0 == Approx(0.2860).margin(0.00005));  // the well-known mean
}

TEST_CASE("MNIST is read from plain IDX") {
  const std::filesystem::path folder = shared_data_folder() / "mnist";
  if (is_missing(folder)) return;
  const TemporaryFolder cache;

  const DataSet train =
      open_train(idx_source(folder / "train-images-idx3-ubyte", folder / "train-labels-idx1-ubyte"),
                 cache.path());

  CHECK(train.size() == 8000);
  CHECK(train.sample_shape() == std::vector<std::int64_t>{1, 28, 28});
  CHECK(mean_byte(train) / 255.0 == Approx(0.1307).margin(0.005));
}

TEST_CASE("MNIST's labels given as images are refused") {
  const std::filesystem::path folder = shared_data_folder() / "mnist";
  if (is_missing(folder)) return;
  const TemporaryFolder cache;

  CHECK_THAT(data_error_of([&] {
               open_train(idx_source(folder / "train-labels-idx1-ubyte",
                                     folder / "train-labels-idx1-ubyte"),
                          cache.path());
             }),
             Catch::Contains("swapped"));
}

TEST_CASE("CIFAR-10's binary version is read") {
  const std::filesystem::path folder = shared_data_folder() / "cifar10";
  if (is_missing(folder)) return;
  const TemporaryFolder cache;
  DataSourceConfig source;
  source.format = DataFormat::kCifar10;
  source.files = {folder / "test_batch.bin"};

  const DataSet data = open_train(source, cache.path());

  CHECK(data.size() == 2000);
  CHECK(data.sample_shape() == std::vector<std::int64_t>{3, 32, 32});
  CHECK(mean_byte(data) / 255.0 == Approx(0.4734).margin(0.01));
}

TEST_CASE("The optical digits are read from CSV with a header") {
  const std::filesystem::path folder = shared_data_folder() / "digits";
  if (is_missing(folder)) return;
  const TemporaryFolder cache;
  DataSourceConfig source;
  source.format = DataFormat::kCsv;
  source.files = {folder / "optdigits.tra"};
  source.has_header = true;
  source.label_column = "Class";

  const DataSet data = open_train(source, cache.path());

  CHECK(data.size() == 3823);
  CHECK(data.sample_shape() == std::vector<std::int64_t>{64});
  CHECK(class_counts(data) == std::vector<int>{376, 389, 380, 389, 387, 376, 377, 387, 380, 382});
}

}  // namespace scavenger
