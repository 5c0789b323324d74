// Private to job_config_json.cpp: the fields of the data in a configuration (config_fields.h).
#pragma once

#include "runtime/config/config_fields.h"
#include "runtime/config/data_config.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(DataFormat, {{DataFormat::kIdx, "idx"},
                                          {DataFormat::kCifar10, "cifar10"},
                                          {DataFormat::kCifar100, "cifar100"},
                                          {DataFormat::kCsv, "csv"},
                                          {DataFormat::kArrays, "arrays"},
                                          {DataFormat::kText, "text"},
                                          {DataFormat::kParallelText, "parallel_text"},
                                          {DataFormat::kSynthetic, "synthetic"},
                                          {DataFormat::kPython, "python"},
                                          {DataFormat::kImageFolder, "image_folder"},
                                          {DataFormat::kTable, "table"},
                                          {DataFormat::kHuggingFace, "huggingface"},
                                          {DataFormat::kWebDataset, "webdataset"}})
NLOHMANN_JSON_SERIALIZE_ENUM(MissingValues, {{MissingValues::kError, "error"},
                                             {MissingValues::kMean, "mean"},
                                             {MissingValues::kDrop, "drop"}})
NLOHMANN_JSON_SERIALIZE_ENUM(TokenType,
                             {{TokenType::kWords, "words"}, {TokenType::kCharacters, "characters"}})

// Bytes of images are scaled to 0..1; other numbers stay as they are.
inline double default_scale(DataFormat format) {
  const bool is_image = format == DataFormat::kIdx || format == DataFormat::kCifar10 ||
                        format == DataFormat::kCifar100 || format == DataFormat::kImageFolder ||
                        format == DataFormat::kWebDataset;
  return is_image ? 1.0 / 255.0 : 1.0;
}

template <typename Fields, MaybeConst<DataSourceConfig> T>
void visit_fields(Fields& field, T& source) {
  field("format", source.format);
  switch (source.format) {
    case DataFormat::kIdx:
      field("features", source.features);
      field("labels", source.labels);
      break;
    case DataFormat::kCifar10:
      field("files", source.files);
      break;
    case DataFormat::kCifar100:
      field("files", source.files);
      field("coarse_labels", source.coarse_labels);
      break;
    case DataFormat::kArrays:
      field("features", source.features);
      field("labels", source.labels);
      field("features_name", source.features_name);
      field("labels_name", source.labels_name);
      break;
    case DataFormat::kText:
      field("files", source.files);
      field("from", source.from);
      field("to", source.to);
      break;
    case DataFormat::kParallelText:
      field("source", source.source);
      field("target", source.target);
      break;
    case DataFormat::kCsv:
      field("files", source.files);
      field.text("label_column", source.label_column);
      field("has_header", source.has_header);
      break;
    case DataFormat::kSynthetic:
      field("samples", source.samples);
      field("feature_count", source.feature_count);
      field("first_sample", source.first_sample);
      field("label_noise", source.label_noise);
      break;
    case DataFormat::kPython:
    case DataFormat::kImageFolder:
    case DataFormat::kTable:
    case DataFormat::kHuggingFace:
    case DataFormat::kWebDataset:
      field.unless_empty("files", source.files);
      field.unless_empty("samples", source.samples);
      field.unless_empty("first_sample", source.first_sample);
      break;
  }
}

template <typename Fields, MaybeConst<NormaliseConfig> T>
void visit_fields(Fields& field, T& normalise) {
  field("mean", normalise.mean);
  field("standard_deviation", normalise.standard_deviation);
}

template <typename Fields, MaybeConst<AugmentConfig> T>
void visit_fields(Fields& field, T& augment) {
  field("flip", augment.flip);
  field("crop_padding", augment.crop_padding);
}

template <typename Fields, MaybeConst<VocabularyConfig> T>
void visit_fields(Fields& field, T& vocabulary) {
  field("tokens", vocabulary.tokens);
  field("lowercase", vocabulary.lowercase);
  field("min_frequency", vocabulary.min_frequency);
  field.unless_empty("max_size", vocabulary.max_size);
  field("shared", vocabulary.shared);
}

template <typename Fields, MaybeConst<BucketConfig> T>
void visit_fields(Fields& field, T& buckets) {
  field("size", buckets.size);
  field("window", buckets.window);
}

template <typename Fields, MaybeConst<ColumnsConfig> T>
void visit_fields(Fields& field, T& columns) {
  field.unless_empty("label", columns.label);
  field.unless_empty("features", columns.features);
  field.unless_empty("text", columns.text);
  field.unless_empty("image", columns.image);
  field("missing", columns.missing);
}

template <typename Fields, MaybeConst<TokenizerConfig> T>
void visit_fields(Fields& field, T& tokenizer) {
  field("file", tokenizer.file);
  field("max_tokens", tokenizer.max_tokens);
}

template <typename Fields, MaybeConst<DataConfig> T>
void visit_fields(Fields& field, T& data) {
  field("train", data.train);
  if constexpr (Fields::kReads)  // the other formats need a test split of their own
    if (is_python(data.train.format)) data.test = data.train;
  field("test", data.test);
  field.unless_empty("classes", data.classes);
  field.unless_empty("sample_shape", data.sample_shape);
  if constexpr (Fields::kReads) data.scale = default_scale(data.train.format);
  field("scale", data.scale);
  field("normalise", data.normalise);
  field("augment", data.augment);
  field("vocabulary", data.vocabulary);
  field("sequence_length", data.sequence_length);
  field("max_length", data.max_length);
  field("buckets", data.buckets);
  field.unless_empty("columns", data.columns);
  field("tokenizer", data.tokenizer);
  field.unless_empty("validation_share", data.validation_share);
}

}  // namespace scavenger
