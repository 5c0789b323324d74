#include <string>

#include "runtime/base/json_text.h"
#include "runtime/config/json_fields.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(DataFormat, {{DataFormat::kIdx, "idx"},
                                          {DataFormat::kCifar10, "cifar10"},
                                          {DataFormat::kCifar100, "cifar100"},
                                          {DataFormat::kCsv, "csv"},
                                          {DataFormat::kArrays, "arrays"},
                                          {DataFormat::kText, "text"},
                                          {DataFormat::kParallelText, "parallel_text"},
                                          {DataFormat::kSynthetic, "synthetic"}})
NLOHMANN_JSON_SERIALIZE_ENUM(TokenType,
                             {{TokenType::kWords, "words"}, {TokenType::kCharacters, "characters"}})

namespace {

Json paths_to_json(const std::vector<std::filesystem::path>& paths) {
  Json list = Json::array();
  for (const auto& path : paths) list.push_back(path.string());
  return list;
}

DataSourceConfig source_from(const Json& object) {
  DataSourceConfig source;
  read(object, "format", source.format);
  source.features = object.value("features", "");
  source.labels = object.value("labels", "");
  read(object, "features_name", source.features_name);
  read(object, "labels_name", source.labels_name);
  for (const std::string file : object.value("files", Json::array())) source.files.push_back(file);
  if (object.contains("label_column")) {
    const Json& column = object.at("label_column");
    source.label_column = column.is_string() ? column.get<std::string>() : json_text(column);
  }
  read(object, "has_header", source.has_header);
  read(object, "coarse_labels", source.coarse_labels);
  read(object, "from", source.from);
  read(object, "to", source.to);
  source.source = object.value("source", "");
  source.target = object.value("target", "");
  read(object, "samples", source.samples);
  read(object, "feature_count", source.feature_count);
  read(object, "first_sample", source.first_sample);
  read(object, "label_noise", source.label_noise);
  return source;
}

Json source_to_json(const DataSourceConfig& source) {
  Json object = {{"format", source.format}};
  switch (source.format) {
    case DataFormat::kIdx:
      object["features"] = source.features.string();
      object["labels"] = source.labels.string();
      break;
    case DataFormat::kCifar10:
      object["files"] = paths_to_json(source.files);
      break;
    case DataFormat::kCifar100:
      object["files"] = paths_to_json(source.files);
      object["coarse_labels"] = source.coarse_labels;
      break;
    case DataFormat::kArrays:
      object["features"] = source.features.string();
      object["labels"] = source.labels.string();
      object["features_name"] = source.features_name;
      object["labels_name"] = source.labels_name;
      break;
    case DataFormat::kText:
      object["files"] = paths_to_json(source.files);
      object["from"] = source.from;
      object["to"] = source.to;
      break;
    case DataFormat::kParallelText:
      object["source"] = source.source.string();
      object["target"] = source.target.string();
      break;
    case DataFormat::kCsv:
      object["files"] = paths_to_json(source.files);
      object["label_column"] = source.label_column;
      object["has_header"] = source.has_header;
      break;
    case DataFormat::kSynthetic:
      object["samples"] = source.samples;
      object["feature_count"] = source.feature_count;
      object["first_sample"] = source.first_sample;
      object["label_noise"] = source.label_noise;
      break;
  }
  return object;
}

// Bytes of images are scaled to 0..1; other numbers stay as they are.
double default_scale(DataFormat format) {
  const bool is_image = format == DataFormat::kIdx || format == DataFormat::kCifar10 ||
                        format == DataFormat::kCifar100;
  return is_image ? 1.0 / 255.0 : 1.0;
}

VocabularyConfig vocabulary_from(const Json& object) {
  VocabularyConfig vocabulary;
  read(object, "tokens", vocabulary.tokens);
  read(object, "lowercase", vocabulary.lowercase);
  read(object, "min_frequency", vocabulary.min_frequency);
  read(object, "max_size", vocabulary.max_size);
  read(object, "shared", vocabulary.shared);
  return vocabulary;
}

Json vocabulary_to_json(const VocabularyConfig& vocabulary) {
  Json object = {{"tokens", vocabulary.tokens},
                 {"lowercase", vocabulary.lowercase},
                 {"min_frequency", vocabulary.min_frequency}};
  write_unless_zero(object, "max_size", vocabulary.max_size);
  object["shared"] = vocabulary.shared;
  return object;
}

}  // namespace

DataConfig data_from(const Json& object) {
  DataConfig data;
  data.train = source_from(object.at("train"));
  data.test = source_from(object.at("test"));
  read(object, "classes", data.classes);
  read(object, "sample_shape", data.sample_shape);
  data.scale = default_scale(data.train.format);
  read(object, "scale", data.scale);
  if (object.contains("normalise")) {
    const Json& normalise = object.at("normalise");
    data.normalise.emplace();
    read(normalise, "mean", data.normalise->mean);
    read(normalise, "standard_deviation", data.normalise->standard_deviation);
  }
  read(object.at("augment"), "flip", data.augment.flip);
  read(object.at("augment"), "crop_padding", data.augment.crop_padding);
  data.vocabulary = vocabulary_from(object.at("vocabulary"));
  read(object, "sequence_length", data.sequence_length);
  read(object, "max_length", data.max_length);
  read(object.at("buckets"), "size", data.buckets.size);
  read(object.at("buckets"), "window", data.buckets.window);
  return data;
}

Json data_to_json(const DataConfig& data) {
  Json object = {{"train", source_to_json(data.train)}, {"test", source_to_json(data.test)}};
  write_unless_zero(object, "classes", data.classes);
  if (!data.sample_shape.empty()) object["sample_shape"] = data.sample_shape;
  object["scale"] = data.scale;
  if (data.normalise)
    object["normalise"] = {{"mean", data.normalise->mean},
                           {"standard_deviation", data.normalise->standard_deviation}};
  object["augment"] = {{"flip", data.augment.flip}, {"crop_padding", data.augment.crop_padding}};
  object["vocabulary"] = vocabulary_to_json(data.vocabulary);
  object["sequence_length"] = data.sequence_length;
  object["max_length"] = data.max_length;
  object["buckets"] = {{"size", data.buckets.size}, {"window", data.buckets.window}};
  return object;
}

}  // namespace scavenger
