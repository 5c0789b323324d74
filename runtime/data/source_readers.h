// The readers: from the files of one split, in each format that we know, to samples in memory.
//
// All of them check everything, down to the last label, and throw DataError for a file that is
// missing, truncated, mislabelled, empty, or has a label outside of [0, classes), an empty line or
// one too many. `section` is
// where the source stands in the configuration, such as "data.train"; the errors' remedies name it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/config/job_config.h"
#include "runtime/data/sample_table.h"
#include "runtime/data/vocabulary.h"

namespace scavenger {

// The reader for the split's format.
SampleTable read_samples(const DataConfig& data, Split split);

// LeCun's IDX, as of MNIST, plain or gzip: `features` of unsigned bytes, {samples, height, width},
// {samples, channels, height, width} or {samples, features}; `labels` of unsigned bytes, {samples}.
SampleTable read_idx(const DataSourceConfig& source, std::uint32_t classes,
                     const std::string& section);

// The binary versions of CIFAR-10, plain or gzip: records of a label and 3 x 32 x 32 bytes; and of
// CIFAR-100: of a coarse label, a fine one, and the bytes.
SampleTable read_cifar(const DataSourceConfig& source, std::uint32_t classes,
                       const std::string& section);

// Comma-separated numbers, plain or gzip, a sample on each line. Fields may be quoted and padded
// with spaces; empty lines are ignored; an optional header line names the columns, the same in all
// files. The label column holds whole numbers, or, without classes, values; all others become the
// features, in their order.
SampleTable read_csv(const DataSourceConfig& source, std::uint32_t classes,
                     const std::string& section);

// Samples alone, of which nothing but the features is known, in a file of the job's own format or,
// whatever that is, of arrays (.npy, .npz, .safetensors) or .csv. A CSV file has the columns of the
// job's, or these without the label: `features` says how many are none. Throws DataError.
SampleTable read_unlabelled(const DataConfig& data, const std::filesystem::path& file,
                            std::uint64_t features);
// Its parts, by format.
SampleTable read_idx_features(const std::filesystem::path& file);
SampleTable read_csv_features(const DataSourceConfig& source, std::uint64_t features);
SampleTable read_array_features(const std::filesystem::path& file, const std::string& name);

// x and y out of .npy, .npz or .safetensors files; the first dimension counts the samples. y are
// labels where there are classes, else values.
SampleTable read_arrays(const DataSourceConfig& source, std::uint32_t classes,
                        const std::string& section);

// Samples with a known answer. Sample i is draw first_sample + i: x ~ N(0, I), and its label is
// argmax_c w_c . x of a fixed random linear teacher w, replaced with probability label_noise by a
// class drawn uniformly. All splits share the teacher. The best accuracy that any model can expect
// on fresh draws is that of the teacher itself: 1 - label_noise (1 - 1 / classes).
SampleTable make_synthetic_samples(const DataSourceConfig& source, std::uint32_t classes,
                                   const std::string& section);

// Lines of words, tokenised before: text for language models, all files one after another, or pairs
// of lines. Each is read with the vocabulary of the training data, which is built first.
SampleTable read_text(const DataConfig& data, Split split);

struct Vocabularies {
  Vocabulary source, target;  // the same words where they are shared, and for running text
};
Vocabularies build_vocabularies(const DataConfig& data);

// For the readers: appends `label`. `where` names its place; it is called for an error only.
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
