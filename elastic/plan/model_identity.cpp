#include "elastic/plan/model_identity.h"

#include <filesystem>
#include <vector>

#include "runtime/base/digest.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {
namespace {

// ---- Version 1. Add at the end; see the header. ----

const std::vector<IdentityKey>& model_keys() {
  static const std::vector<IdentityKey> keys{
      {"/type"},         {"/hidden"},         {"/channels"},       {"/dense"},
      {"/stem"},         {"/width"},          {"/heads"},          {"/inner"},
      {"/layers"},       {"/encoder_layers"}, {"/decoder_layers"}, {"/shared_embeddings"},
      {"/dropout"},      {"/norm"},           {"/path"},           {"/start/weights"},
      {"/start/except"}, {"/freeze"},
  };
  return keys;
}

const std::vector<IdentityKey>& data_keys() {
  static const std::vector<IdentityKey> keys = [] {
    std::vector<IdentityKey> all;
    for (const char* pointer : {"/train/format",
                                "/train/features",
                                "/train/labels",
                                "/train/features_name",
                                "/train/labels_name",
                                "/train/files",
                                "/train/coarse_labels",
                                "/train/from",
                                "/train/to",
                                "/train/source",
                                "/train/target",
                                "/train/samples",
                                "/train/feature_count",
                                "/train/first_sample",
                                "/train/label_noise",
                                "/train/label_column",
                                "/train/has_header",
                                "/test/format",
                                "/test/features",
                                "/test/labels",
                                "/test/features_name",
                                "/test/labels_name",
                                "/test/files",
                                "/test/coarse_labels",
                                "/test/from",
                                "/test/to",
                                "/test/source",
                                "/test/target",
                                "/test/samples",
                                "/test/feature_count",
                                "/test/first_sample",
                                "/test/label_noise",
                                "/test/label_column",
                                "/test/has_header",
                                "/classes",
                                "/sample_shape",
                                "/scale",
                                "/normalise/mean",
                                "/normalise/standard_deviation",
                                "/augment/flip",
                                "/augment/crop_padding",
                                "/vocabulary/tokens",
                                "/vocabulary/lowercase",
                                "/vocabulary/min_frequency",
                                "/vocabulary/max_size",
                                "/vocabulary/shared",
                                "/sequence_length",
                                "/max_length",
                                "/buckets/size",
                                "/buckets/window",
                                "/columns/label",
                                "/columns/features",
                                "/columns/text",
                                "/columns/image",
                                "/columns/missing",
                                "/tokenizer/file",
                                "/tokenizer/max_tokens",
                                "/validation_share"})
      all.push_back({pointer});
    return all;
  }();
  return keys;
}

const std::vector<IdentityKey>& optimizer_keys() {
  static const std::vector<IdentityKey> keys{
      {"/type"},
      {"/learning_rate"},
      {"/momentum"},
      {"/dampening"},
      {"/nesterov"},
      {"/beta1"},
      {"/beta2"},
      {"/epsilon"},
      {"/weight_decay"},
      {"/clip_norm"},
      {"/batch_size_rule"},
      {"/reference_batch_size"},
      {"/schedule/type"},
      {"/schedule/warmup_epochs"},
      {"/schedule/boundary_epochs"},
      {"/schedule/factor"},
      {"/schedule/total_epochs"},
      {"/schedule/final_fraction"},
  };
  return keys;
}

void drop_folders(nlohmann::json& files) {
  if (files.is_string())
    files = std::filesystem::path(files.get<std::string>()).filename().string();
  else
    for (nlohmann::json& file : files) drop_folders(file);
}

}  // namespace

nlohmann::json picked(const nlohmann::json& section, std::span<const IdentityKey> keys) {
  nlohmann::json identity = nlohmann::json::object();
  for (const IdentityKey& key : keys) {
    const nlohmann::json::json_pointer pointer(key.pointer);
    if (section.contains(pointer) && !(key.came_with && section.at(pointer) == *key.came_with))
      identity[pointer] = section.at(pointer);
  }
  return identity;
}

ModelIdentity identity_of(const JobConfig& config) {
  const nlohmann::json document = to_json(config);
  ModelIdentity identity{.model = picked(document.at("model"), model_keys()),
                         .data = picked(document.at("data"), data_keys()),
                         .optimizer = picked(document.at("optimizer"), optimizer_keys())};
  if (identity.data.contains("tokenizer")) drop_folders(identity.data.at("tokenizer").at("file"));
  for (const char* split : {"train", "test"})
    for (const char* key : {"features", "labels", "files"})
      if (identity.data.at(split).contains(key)) drop_folders(identity.data.at(split).at(key));
  return identity;
}

std::string identity_digest(const nlohmann::json& identity) {
  return sha256_hex(json_text(identity)).substr(0, 16);
}

}  // namespace scavenger::elastic
