#include "runtime/data/source_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/data/prepared_file.h"

namespace scavenger {
namespace {

std::vector<std::filesystem::path> source_files(const DataSourceConfig& source) {
  switch (source.format) {
    case DataFormat::kIdx:
    case DataFormat::kArrays:
      return {source.features, source.labels};
    case DataFormat::kParallelText:
      return {source.source, source.target};
    case DataFormat::kText:
    case DataFormat::kCifar10:
    case DataFormat::kCifar100:
    case DataFormat::kCsv:
      return source.files;
    case DataFormat::kSynthetic:
    case DataFormat::kPython:
    case DataFormat::kImageFolder:
    case DataFormat::kTable:
    case DataFormat::kHuggingFace:
    case DataFormat::kWebDataset:
      return {};  // for those of Python, the worker looks
  }
  __builtin_unreachable();
}

std::string format_name(DataFormat format) {
  switch (format) {
    case DataFormat::kIdx:
      return "idx";
    case DataFormat::kCifar10:
      return "cifar10";
    case DataFormat::kCifar100:
      return "cifar100";
    case DataFormat::kCsv:
      return "csv";
    case DataFormat::kArrays:
      return "arrays";
    case DataFormat::kText:
      return "text";
    case DataFormat::kParallelText:
      return "parallel_text";
    case DataFormat::kSynthetic:
      return "synthetic";
    case DataFormat::kPython:
    case DataFormat::kImageFolder:
    case DataFormat::kTable:
    case DataFormat::kHuggingFace:
    case DataFormat::kWebDataset:
      return "python";  // the prepared file has only numbers of samples
  }
  __builtin_unreachable();
}

// Returns all settings that affect the result of a reader, one on each line.
std::string describe_settings(const DataSourceConfig& source, std::uint32_t classes) {
  std::string text = fmt::format("{}\nclasses {}\n", format_name(source.format), classes);
  if (source.format == DataFormat::kCsv)
    text += fmt::format("label_column {}\nhas_header {}\n", source.label_column, source.has_header);
  if (source.format == DataFormat::kCifar100)
    text += fmt::format("coarse_labels {}\n", source.coarse_labels);
  if (source.format == DataFormat::kArrays)
    text +=
        fmt::format("features_name {}\nlabels_name {}\n", source.features_name, source.labels_name);
  if (source.format == DataFormat::kText)
    text += fmt::format("from {:a}\nto {:a}\n", source.from, source.to);
  if (source.format == DataFormat::kSynthetic)
    text +=
        fmt::format("samples {}\nfeature_count {}\nfirst_sample {}\nlabel_noise {:a}\n",
                    source.samples, source.feature_count, source.first_sample, source.label_noise);
  if (is_python(source.format))
    text += fmt::format("samples {}\nfirst_sample {}\n", source.samples, source.first_sample);
  for (const std::filesystem::path& path : source_files(source))
    text += fmt::format("file {}\n", std::filesystem::absolute(path).lexically_normal().string());
  return text;
}

std::string describe_vocabulary(const DataConfig& data) {
  const VocabularyConfig& vocabulary = data.vocabulary;
  return fmt::format("tokens {}\nlowercase {}\nmin_frequency {}\nmax_size {}\nshared {}\n",
                     vocabulary.tokens == TokenType::kWords ? "words" : "characters",
                     vocabulary.lowercase, vocabulary.min_frequency, vocabulary.max_size,
                     vocabulary.shared);
}

std::string describe_state(const std::filesystem::path& path, const std::string& section) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw DataError({.what = std::string("cannot read the data file: ") + std::strerror(errno),
                     .where = path.string(),
                     .remedy = "correct the path in " + section + ", or put the file there"});
  if (!S_ISREG(status.st_mode))
    throw DataError({.what = "this is not a regular file",
                     .where = path.string(),
                     .remedy = "name the data file itself in " + section});
  return fmt::format("{} bytes, changed {}.{:09}\n", status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

}  // namespace

SourceIdentity identify_source(const DataConfig& data, Split split) {
  const bool is_train = split == Split::kTrain;
  const DataSourceConfig& source = is_train ? data.train : data.test;
  std::string settings = describe_settings(source, data.classes);
  if (is_text(source.format)) {
    // The vocabulary is made from the training data.
    settings += describe_vocabulary(data) + describe_settings(data.train, 0);
    // Long pairs are skipped in training data, and an error in test data.
    settings +=
        fmt::format("split {}\nmax_length {}\n", is_train ? "train" : "test", data.max_length);
  }
  std::string everything = fmt::format("version {}\n{}", kPreparedFormatVersion, settings);
  const auto add_files = [&](const DataSourceConfig& files, const char* section) {
    for (const std::filesystem::path& path : source_files(files))
      everything += describe_state(path, section);
  };
  add_files(source, is_train ? "data.train" : "data.test");
  if (is_text(source.format)) add_files(data.train, "data.train");
  return {.file_name = fmt::format("{}-{}.data", format_name(source.format),
                                   sha256_hex(settings).substr(0, 16)),
          .key = sha256(std::as_bytes(std::span(everything)))};
}

}  // namespace scavenger
