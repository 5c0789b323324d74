// Prints how fast data sets open (wall time) and batches are assembled (per second of processor
// time of one thread, so that other load on the machine does not count).
//
//   data_bench [SHARED_DATA_FOLDER]      default: $SCAVENGER_SHARED_DATA, else ../shared/data
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/data/batch_assembler.h"
#include "test/support/temporary_folder.h"

namespace scavenger {
namespace {

constexpr std::uint32_t kBatchSize = 128;
constexpr int kBatches = 1000;
constexpr int kRepetitions = 5;

class ThreadCpuClock final : public Clock {
 public:
  double now_seconds() const override {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRepetitions / 2, values.end());
  return values[kRepetitions / 2];
}

void print_opening(const std::string& name, const DataConfig& config,
                   const std::filesystem::path& cache) {
  const SteadyClock clock;
  const double start_seconds = clock.now_seconds();
  DataSet::open(config, Split::kTrain, cache);
  const double prepared_seconds = clock.now_seconds();
  DataSet::open(config, Split::kTrain, cache);
  const double mapped_seconds = clock.now_seconds();
  fmt::print("{:40} prepare {:9.1f} ms   open again {:6.3f} ms\n", name,
             1e3 * (prepared_seconds - start_seconds), 1e3 * (mapped_seconds - prepared_seconds));
}

void print_assembling(const std::string& name, const DataConfig& config,
                      const std::filesystem::path& cache) {
  const ThreadCpuClock clock;
  const DataSet data = DataSet::open(config, Split::kTrain, cache);
  BatchAssembler assembler = BatchAssembler::for_training(data, config, 1);
  Batch batch;
  std::uint64_t position = 0;
  std::vector<double> samples_per_second;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const double start_seconds = clock.now_seconds();
    for (int i = 0; i < kBatches; ++i, position += kBatchSize)
      assembler.assemble(BatchPlace::whole(position, kBatchSize), batch);
    samples_per_second.push_back(kBatches * kBatchSize / (clock.now_seconds() - start_seconds));
  }
  const double rate = median(samples_per_second);
  const std::size_t values = batch.features.size() + batch.tokens.size();
  fmt::print("{:40} {:9.0f} samples/s   {:6.2f} us/sample   {:5.2f} G values/s\n", name, rate,
             1e6 / rate, 1e-9 * rate * static_cast<double>(values) / kBatchSize);
}

void measure(const std::string& name, DataConfig config, const std::filesystem::path& cache) {
  print_opening(name, config, cache);
  print_assembling(name + ", plain", config, cache);
  config.augment = {.flip = true, .crop_padding = 4};
  print_assembling(name + ", flip and crop", config, cache);
}

DataConfig fashion_mnist() {
  const std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  DataConfig config;
  config.classes = 10;
  config.scale = 1.0 / 255.0;
  config.train.format = DataFormat::kIdx;
  config.train.features = folder / "train-images-idx3-ubyte.gz";
  config.train.labels = folder / "train-labels-idx1-ubyte.gz";
  config.normalise = NormaliseConfig{.mean = {0.2860}, .standard_deviation = {0.3530}};
  return config;
}

DataConfig cifar10(const std::filesystem::path& shared_data) {
  DataConfig config;
  config.classes = 10;
  config.scale = 1.0 / 255.0;
  config.train.format = DataFormat::kCifar10;
  config.train.files = {shared_data / "cifar10" / "data_batch_1.bin"};
  config.normalise = NormaliseConfig{.mean = {0.4914, 0.4822, 0.4465},
                                     .standard_deviation = {0.2470, 0.2435, 0.2616}};
  return config;
}

DataConfig synthetic() {
  DataConfig config;
  config.classes = 10;
  config.train.format = DataFormat::kSynthetic;
  config.train.samples = 10000;
  config.train.feature_count = 256;
  return config;
}

DataConfig digits(const std::filesystem::path& shared_data) {
  DataConfig config;
  config.classes = 10;
  config.train.format = DataFormat::kCsv;
  config.train.files = {shared_data / "digits" / "optdigits.tra"};
  config.train.label_column = "last";
  config.train.has_header = true;
  return config;
}

// CIFAR-100's own files are not at hand: as many bytes of the same form.
DataConfig cifar100(const std::filesystem::path& folder) {
  DataConfig config;
  config.classes = 100;
  config.train.format = DataFormat::kCifar100;
  config.train.files = {folder / "train.bin"};
  write_file_atomically(config.train.files[0], std::string(10000 * (2 + 3072), '\1'));
  return config;
}

DataConfig array(const std::filesystem::path& folder) {
  constexpr int kRows = 10000;
  DataConfig config;
  config.train.format = DataFormat::kArrays;
  config.train.features = config.train.labels = folder / "x.npy";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (10000, 256), }\n";
  std::string content = "\x93NUMPY" + std::string("\1\0", 2);
  content += {static_cast<char>(header.size()), '\0'};
  write_file_atomically(config.train.features,
                        content + header + std::string(kRows * 256 * sizeof(float), '\0'));
  return config;
}

DataConfig running_text(const std::filesystem::path& shared_data) {
  DataConfig config;
  config.train.format = DataFormat::kText;
  config.train.files = {shared_data / "tinyshakespeare" / "input.txt"};
  config.vocabulary.tokens = TokenType::kCharacters;
  return config;
}

DataConfig pairs_of_lines(const std::filesystem::path& shared_data) {
  DataConfig config;
  config.train.format = DataFormat::kParallelText;
  config.train.source = shared_data / "multi30k" / "train.en";
  config.train.target = shared_data / "multi30k" / "train.de";
  config.vocabulary.min_frequency = 2;
  return config;
}

void measure_plain(const std::string& name, const DataConfig& config,
                   const std::filesystem::path& cache) {
  print_opening(name, config, cache);
  print_assembling(name, config, cache);
}

void measure_shared(const std::filesystem::path& shared_data, const std::filesystem::path& cache) {
  if (!std::filesystem::exists(shared_data))
    return fmt::print("data sets of {} skipped: it is not there\n", shared_data.string());
  measure("CIFAR-10, 10000 x 3072 u8", cifar10(shared_data), cache);
  measure_plain("CSV, 3823 x 64 f32", digits(shared_data), cache);
  measure_plain("text, 8713 x 128 characters", running_text(shared_data), cache);
  measure_plain("pairs of lines, 29000, in buckets", pairs_of_lines(shared_data), cache);
}

}  // namespace
}  // namespace scavenger

int main(int argument_count, char** arguments) {
  using namespace scavenger;
  try {
    const char* from_environment = std::getenv("SCAVENGER_SHARED_DATA");
    std::filesystem::path shared_data = SCAVENGER_SHARED_DATA_DEFAULT;
    if (from_environment != nullptr) shared_data = from_environment;
    if (argument_count > 1) shared_data = arguments[1];
    const TemporaryFolder cache;
    measure("Fashion-MNIST, 60000 x 784 u8", fashion_mnist(), cache.path());
    measure_shared(shared_data, cache.path());
    measure("CIFAR-100's form, 10000 x 3072 u8", cifar100(cache.path()), cache.path());
    measure_plain("array, 10000 x 256 f32", array(cache.path()), cache.path());
    measure_plain("synthetic, 10000 x 256 f32", synthetic(), cache.path());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "data_bench: {}\n", error.what());
    return 1;
  }
}
