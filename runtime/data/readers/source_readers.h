// The readers, one for each format: they convert the files of one split to samples in memory.
//
// All readers check their files completely. They throw DataError if a file is missing, truncated,
// mislabelled or empty, if it has a label outside of [0, classes), or, in text, an empty line or
// one line too many. `section` is the place of the source in the configuration, such as
// "data.train"; the remedies of errors name it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/config/job_config.h"
#include "runtime/data/readers/sample_table.h"
#include "runtime/data/readers/vocabulary.h"

namespace scavenger {

// Reads a split with the reader for its format.
SampleTable read_samples(const DataConfig& data, Split split);

// LeCun's IDX format (MNIST), plain or gzip: `features` of unsigned bytes, {samples, height,
// width}, {samples, channels, height, width} or {samples, features}; `labels` of unsigned bytes,
// {samples}.
SampleTable read_idx(const DataSourceConfig& source, std::uint32_t classes,
                     const std::string& section);

// The binary versions of CIFAR-10, plain or gzip: records of a label and 3 x 32 x 32 bytes; and of
// CIFAR-100: of a coarse label, a fine one, and the bytes.
SampleTable read_cifar(const DataSourceConfig& source, std::uint32_t classes,
                       const std::string& section);

// Comma-separated numbers, plain or gzip, a sample on each line. Fields may be quoted and padded
// with spaces; empty lines are ignored; an optional header line names the columns, the same in all
// files. The label column contains whole numbers, or, without classes, values; all other columns
// become the features, in their order.
SampleTable read_csv(const DataSourceConfig& source, std::uint32_t classes,
                     const std::string& section);

// Reads samples without targets from a file of the job's own format, or from a file of arrays
// (.npy, .npz, .safetensors) or .csv, whatever the job's format is. A CSV file has the columns of
// the job's files, with or without the label; `features` is the number of feature columns. Throws
// DataError.
SampleTable read_unlabelled(const DataConfig& data, const std::filesystem::path& file,
                            std::uint64_t features);
// The parts of read_unlabelled(), by format.
SampleTable read_idx_features(const std::filesystem::path& file);
SampleTable read_csv_features(const DataSourceConfig& source, std::uint64_t features);
SampleTable read_array_features(const std::filesystem::path& file, const std::string& name);

// Reads x and y from .npy, .npz or .safetensors files, whose first dimension counts the samples. y
// contains labels if there are classes, and values otherwise.
SampleTable read_arrays(const DataSourceConfig& source, std::uint32_t classes,
                        const std::string& section);

// Makes synthetic samples with a known best accuracy. Sample i is draw first_sample + i: x ~ N(0,
// I). Its label is argmax_c w_c . x of a fixed random linear teacher w, replaced with probability
// label_noise by a class drawn uniformly. All splits share the teacher. The best expected accuracy
// of any model on fresh draws is that of the teacher: 1 - label_noise (1 - 1 / classes).
SampleTable make_synthetic_samples(const DataSourceConfig& source, std::uint32_t classes,
                                   const std::string& section);

// Makes a table of numbers in place of samples that only the model's Python file can read: the
// label of sample i is first_sample + i.
SampleTable number_samples(const DataSourceConfig& source, const std::string& section);

// Reads lines of words that have been tokenised before: either text for language models, all files
// one after another, or pairs of lines. First builds the vocabulary of the training data.
SampleTable read_text(const DataConfig& data, Split split);

struct Vocabularies {
  Vocabulary source, target;  // equal if they are shared, and for running text
};
Vocabularies build_vocabularies(const DataConfig& data);

// For the readers: appends `label`. `where` returns its place and is called only for an error.
// Throws DataError if the label is not in [0, classes).
template <typename Where>
void append_label(std::int64_t label, std::uint32_t classes, SampleTable& table,
                  const Where& where);
[[noreturn]] void throw_label_error(std::int64_t label, std::uint32_t classes,
                                    const std::string& where);

template <typename Where>
void append_label(std::int64_t label, std::uint32_t classes, SampleTable& table,
                  const Where& where) {
  if (label < 0 || label >= std::int64_t{classes}) throw_label_error(label, classes, where());
  table.labels.push_back(static_cast<std::int32_t>(label));
}

}  // namespace scavenger
