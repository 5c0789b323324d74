// The data section of a job's configuration (job_config.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace scavenger {

enum class DataFormat {
  kIdx,
  kCifar10,
  kCifar100,
  kCsv,
  kArrays,        // .npy, .npz, .safetensors
  kText,          // for language models
  kParallelText,  // for translation
  kSynthetic,
  // For models in Python, whose worker reads them (python/scavenger/data):
  kPython,       // of the model's own file: make_dataset(split)
  kImageFolder,  // a folder of images for each class
  kTable,        // CSV, JSON Lines, Parquet, Arrow
  kHuggingFace,  // a data set of the library `datasets`, as save_to_disk() writes it
  kWebDataset    // shards of tar
};

// The source of the samples of one split of a data set.
struct DataSourceConfig {
  DataFormat format = DataFormat::kIdx;
  std::filesystem::path features;            // idx: images, plain or gzip; arrays: file with x
  std::filesystem::path labels;              // idx: labels, plain or gzip; arrays: the file with y
  std::string features_name;                 // arrays: name of x in a file of several
  std::string labels_name;                   // arrays: name of y
  std::vector<std::filesystem::path> files;  // cifar: .bin batches; csv, text: one or more files,
                                             // in order; formats of Python: files or folders
  std::string label_column;      // csv: a name (needs a header line), an index from 0, or "last"
  bool has_header = false;       // csv
  bool coarse_labels = false;    // cifar100: use the 20 groups instead of the 100 classes
  double from = 0.0;             // text: fraction of the tokens at which this split starts,
  double to = 1.0;               // and at which it ends
  std::filesystem::path source;  // parallel_text: lines of words in the source language
  std::filesystem::path target;  // parallel_text: their translations, line by line
  // synthetic, formats of Python: number of samples; the latter, 0: not known
  std::uint64_t samples = 0;
  std::uint64_t feature_count = 0;  // synthetic: length of x
  // synthetic: sample i of this split is draw first_sample + i; Python: it has that number
  std::uint64_t first_sample = 0;
  double label_noise = 0.0;  // synthetic: fraction of labels drawn at random

  bool operator==(const DataSourceConfig&) const = default;
};

struct NormaliseConfig {
  std::vector<double> mean;                // one per channel, or one for all
  std::vector<double> standard_deviation;  // same length

  bool operator==(const NormaliseConfig&) const = default;
};

struct AugmentConfig {
  bool flip = false;               // mirror left to right, with probability 1/2
  std::uint32_t crop_padding = 0;  // zero-pad by this many pixels on each side, then crop at random

  bool operator==(const AugmentConfig&) const = default;
};

enum class TokenType { kWords, kCharacters };

// How text is split into tokens (text formats only).
struct VocabularyConfig {
  TokenType tokens = TokenType::kWords;  // kWords: separated by spaces
  bool lowercase = false;
  std::uint32_t min_frequency = 1;  // tokens that are rarer in the training data count as unknown
  std::uint32_t max_size = 0;       // keep only so many of the most frequent tokens; 0: all
  bool shared = false;              // parallel_text: one vocabulary for both languages

  bool operator==(const VocabularyConfig&) const = default;
};

// How parallel text is grouped by length: each `window` of samples of the job's order is divided
// into buckets of samples of similar length, and the order of the buckets is random.
struct BucketConfig {
  std::uint32_t size = 128;      // samples; 1: no bucketing
  std::uint32_t window = 12800;  // samples, a multiple of size

  bool operator==(const BucketConfig&) const = default;
};

// What to do with a sample that lacks a value.
enum class MissingValues { kError, kMean, kDrop };

// What the columns of a table are for (table, huggingface; webdataset: endings of names).
struct ColumnsConfig {
  std::string label;
  std::vector<std::string> features;              // empty: all other columns that have numbers
  std::string text;                               // in place of features: what the tokenizer reads
  std::string image;                              // in place of features: bytes of an image
  MissingValues missing = MissingValues::kError;  // in features

  bool operator==(const ColumnsConfig&) const = default;
};

// How text becomes tokens: a tokenizer.json of Hugging Face.
struct TokenizerConfig {
  std::filesystem::path file;
  std::uint32_t max_tokens = 128;  // longer texts are cut

  bool operator==(const TokenizerConfig&) const = default;
};

struct DataConfig {
  DataSourceConfig train;
  DataSourceConfig test;
  std::uint32_t classes = 0;  // number of labels; 0: targets are values or tokens
  std::vector<std::int64_t>
      sample_shape;    // {channels, height, width} or {features}; empty: as the files have it
  double scale = 1.0;  // multiplies raw values before normalisation (images: 1/255 by default)
  std::optional<NormaliseConfig> normalise;
  AugmentConfig augment;
  VocabularyConfig vocabulary;
  std::uint32_t sequence_length = 128;  // text: tokens per sample
  std::uint32_t max_length = 256;       // parallel_text: words per line
  BucketConfig buckets;
  ColumnsConfig columns;
  std::optional<TokenizerConfig> tokenizer;
  // Formats of Python: the test data are this share of the training data; 0: they are data.test.
  double validation_share = 0.0;

  bool operator==(const DataConfig&) const = default;
};

inline bool is_cifar(DataFormat format) {
  return format == DataFormat::kCifar10 || format == DataFormat::kCifar100;
}

// Returns whether the worker of models in Python reads this format, and the runtime knows no more
// than the numbers of samples.
inline bool is_python(DataFormat format) {
  return format >= DataFormat::kPython;
}

// Returns whether samples are tokens.
inline bool is_text(DataFormat format) {
  return format == DataFormat::kText || format == DataFormat::kParallelText;
}

}  // namespace scavenger
