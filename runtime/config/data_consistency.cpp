#include <fmt/format.h>

#include <algorithm>

#include "runtime/config/consistency_parts.h"

namespace scavenger {
namespace {

class DataCheck final {
 public:
  DataCheck(const JobConfig& config, std::vector<Violation>& violations)
      : config_(config), data_(config.data), violations_(violations) {}

  void run() {
    check_sources();
    check_batch();
    check_test_split();
    check_readers();
    check_classes();
    check_text();
    check_sample_shape();
    check_normalise();
    check_augment();
  }

 private:
  void check_sources();
  void check_synthetic_splits();
  void check_batch();
  void check_test_split();
  void check_readers();
  void check_label_column(const DataSourceConfig& source, const char* place);
  void check_classes();
  void check_text();
  void check_sample_shape();
  void check_normalise();
  void check_augment();

  void fail(const std::string& place, std::string what, std::string remedy) {
    report(violations_, place, std::move(what), std::move(remedy));
  }

  const JobConfig& config_;
  const DataConfig& data_;
  std::vector<Violation>& violations_;
};

void DataCheck::check_sources() {
  if (data_.test == DataSourceConfig()) return;  // check_test_split() says so
  if (data_.train.format != data_.test.format) {
    fail("/data/test/format", "the test data has another format than the training data",
         "use one format for both");
  } else if (data_.train.format == DataFormat::kSynthetic) {
    check_synthetic_splits();
  }
  check_label_column(data_.train, "/data/train/label_column");
  check_label_column(data_.test, "/data/test/label_column");
}

void DataCheck::check_test_split() {
  const bool is_own =
      data_.train.format != data_.test.format || data_.train.files != data_.test.files;
  if (!is_python(data_.train.format)) {
    if (data_.test == DataSourceConfig())
      fail("/data", "\"test\" is missing", "add it: the data that the model is tested on");
    if (data_.validation_share > 0.0)
      fail("/data/validation_share", "only formats that Python reads are divided",
           "leave it out, and name the test data in data.test");
  } else if (data_.validation_share > 0.0 && is_own) {
    fail("/data/validation_share", "there are test data already", "leave it out, or data.test");
  } else if (data_.validation_share == 0.0 && !is_own &&
             data_.train.format != DataFormat::kPython) {
    fail("/data", "the test data are the training data",
         "name others in data.test, or hold a share back: \"validation_share\": 0.1");
  }
}

// The formats that Python reads, and what only they have.
void DataCheck::check_readers() {
  const DataFormat format = data_.train.format;
  const ColumnsConfig& columns = data_.columns;
  const bool is_table = format == DataFormat::kTable || format == DataFormat::kHuggingFace;
  if (is_python(format) && format != DataFormat::kPython && data_.train.files.empty())
    fail("/data/train", "\"files\" is missing", "add it: a list of files or folders");
  if (!is_table && format != DataFormat::kWebDataset && columns != ColumnsConfig())
    fail("/data/columns", "data of this format have no columns", "leave it out");
  if (is_table && columns.label.empty())
    fail("/data", "\"columns.label\" is missing", "add it: the name of the column to predict");
  if (!columns.features.empty() + !columns.text.empty() + !columns.image.empty() > 1)
    fail("/data/columns", "a sample has inputs of several kinds",
         "name features, or text, or image");
  if (!columns.text.empty() != data_.tokenizer.has_value() && is_python(format))
    fail(columns.text.empty() ? "/data/tokenizer" : "/data/columns/text",
         "text needs a tokenizer, and a tokenizer text",
         "give both data.columns.text and data.tokenizer, or neither");
  if (data_.tokenizer && !is_python(format))
    fail("/data/tokenizer", "only formats that Python reads have a tokenizer", "leave it out");
  const bool has_images = format == DataFormat::kImageFolder || !columns.image.empty() ||
                          (format == DataFormat::kWebDataset && columns.text.empty());
  if (has_images && data_.sample_shape.size() != 3)
    fail("/data", "\"sample_shape\" is missing",
         "add it: [3, height, width], the size that images are brought to");
}

void DataCheck::check_synthetic_splits() {
  const DataSourceConfig& train = data_.train;
  const DataSourceConfig& test = data_.test;
  if (train.feature_count != test.feature_count)
    fail("/data/test/feature_count",
         fmt::format("test samples have {} features and training samples {}", test.feature_count,
                     train.feature_count),
         "use the same number");
  if (test.first_sample < train.first_sample + train.samples &&
      train.first_sample < test.first_sample + test.samples)
    fail("/data/test/first_sample", "the test data repeats samples of the training data",
         fmt::format("start it at {} or later", train.first_sample + train.samples));
}

// If the configuration says how many samples there are.
void DataCheck::check_batch() {
  const DataSourceConfig& train = data_.train;
  const bool is_known = train.format == DataFormat::kSynthetic ||
                        (train.format == DataFormat::kPython && train.samples > 0);
  if (is_known && config_.batch_size > train.samples)
    fail("/batch_size",
         fmt::format("a batch of {} is more than the {} training samples", config_.batch_size,
                     train.samples),
         fmt::format("use at most {}", train.samples));
}

void DataCheck::check_label_column(const DataSourceConfig& source, const char* place) {
  const std::string& column = source.label_column;
  const bool is_name =
      column != "last" && column.find_first_not_of("0123456789") != std::string::npos;
  if (source.format == DataFormat::kCsv && is_name && !source.has_header)
    fail(place, fmt::format("column \"{}\" is a name, and the files have no header line", column),
         "set has_header to true, or give the column's index from 0, or \"last\"");
}

void DataCheck::check_classes() {
  const DataFormat format = data_.train.format;
  const bool has_labels = format == DataFormat::kIdx || is_cifar(format) ||
                          format == DataFormat::kSynthetic || format == DataFormat::kImageFolder;
  if (is_text(format) && data_.classes > 0)
    fail("/data/classes", "text has no classes: what is predicted are its tokens", "leave it out");
  else if (has_labels && data_.classes == 0)
    fail("/data", "\"classes\" is missing",
         "add it: an integer from 2 to 1000000, the number of classes");
}

void DataCheck::check_text() {
  const DataFormat format = data_.train.format;
  if (format == DataFormat::kText)
    for (const auto& [source, place] :
         {std::pair(&data_.train, "/data/train/to"), std::pair(&data_.test, "/data/test/to")})
      if (source->to <= source->from)
        fail(place, fmt::format("nothing is left from {} to {}", source->from, source->to),
             "use a number above `from`");
  const BucketConfig& buckets = data_.buckets;
  if (buckets.window % buckets.size != 0)
    fail("/data/buckets/window",
         fmt::format("a window of {} does not hold a whole number of buckets of {}", buckets.window,
                     buckets.size),
         fmt::format("use a multiple of {}, such as {}", buckets.size, 100 * buckets.size));
}

void DataCheck::check_sample_shape() {
  const std::vector<std::int64_t>& shape = data_.sample_shape;
  if (shape.empty()) return;
  if (is_text(data_.train.format)) {
    fail("/data/sample_shape", "text has no shape that could be changed", "leave it out");
    return;
  }
  if (shape.size() == 2)
    fail("/data/sample_shape", "a sample cannot have 2 dimensions",
         "use [channels, height, width] or [features]");
  constexpr std::int64_t kMostValues = 1 << 24;  // keeps the product far from overflow
  std::int64_t values = 1;
  for (const std::int64_t size : shape) values = std::min(values * size, kMostValues + 1);
  std::int64_t expected = values;
  if (is_cifar(data_.train.format)) expected = 3 * 32 * 32;
  if (data_.train.format == DataFormat::kSynthetic)
    expected = static_cast<std::int64_t>(data_.train.feature_count);
  if (values > kMostValues) {
    fail("/data/sample_shape", "a sample of this shape is too large",
         fmt::format("use at most {} values", kMostValues));
  } else if (values != expected) {
    fail("/data/sample_shape",
         fmt::format("this shape has {} values, and a sample has {}", values, expected),
         "correct it, or leave it out");
  }
}

void DataCheck::check_normalise() {
  if (!data_.normalise) return;
  if (is_text(data_.train.format)) {
    fail("/data/normalise", "text cannot be normalised", "leave it out");
    return;
  }
  const std::size_t means = data_.normalise->mean.size();
  const std::size_t deviations = data_.normalise->standard_deviation.size();
  const auto shape = known_image_shape(data_);
  if (means != deviations) {
    fail("/data/normalise/standard_deviation",
         fmt::format("{} standard deviations do not fit {} means", deviations, means),
         "give as many of one as of the other");
  } else if (shape && means != 1 && means != static_cast<std::size_t>(shape->front())) {
    fail("/data/normalise/mean",
         fmt::format("{} means do not fit {} channels", means, shape->front()),
         "give one per channel, or one for all");
  }
}

void DataCheck::check_augment() {
  if (has_images(data_)) return;
  if (data_.augment.flip) fail("/data/augment/flip", "only images can be flipped", kImageRemedy);
  if (data_.augment.crop_padding > 0)
    fail("/data/augment/crop_padding", "only images can be cropped", kImageRemedy);
}

}  // namespace

bool has_images(const DataConfig& data) {
  if (!data.sample_shape.empty()) return data.sample_shape.size() == 3;
  return data.train.format == DataFormat::kIdx || data.train.format == DataFormat::kCifar10 ||
         data.train.format == DataFormat::kCifar100;
}

std::optional<std::vector<std::int64_t>> known_image_shape(const DataConfig& data) {
  if (data.sample_shape.size() == 3) return data.sample_shape;
  if (data.sample_shape.empty() && is_cifar(data.train.format))
    return std::vector<std::int64_t>{3, 32, 32};
  return std::nullopt;
}

void check_data_config(const JobConfig& config, std::vector<Violation>& violations) {
  DataCheck(config, violations).run();
}

}  // namespace scavenger
