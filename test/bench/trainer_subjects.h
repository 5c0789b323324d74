// The models that benchmarks train: with which data, loss and batch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/training/data_shape.h"

namespace scavenger::bench {

struct Subject {
  ModelConfig model;
  DataShape data;
  std::uint32_t batch_size = 64;
  LossConfig loss = {LossType::kCrossEntropy};
};

inline Subject images(ModelConfig model, std::vector<std::int64_t> shape,
                      std::uint32_t batch_size) {
  Subject subject{.model = std::move(model), .data = {}, .batch_size = batch_size};
  subject.data.sample_shape = std::move(shape);
  subject.data.classes = 10;
  return subject;
}

inline ModelConfig of_type(ModelType type) {
  ModelConfig model;
  model.type = type;
  return model;
}

inline Subject mlp() {
  ModelConfig model = of_type(ModelType::kMlp);
  model.hidden = {512, 512};
  return images(model, {784}, 64);
}

inline Subject regressor() {
  ModelConfig model = of_type(ModelType::kMlp);
  model.hidden = {512, 512};
  Subject subject{.model = std::move(model), .data = {}, .loss = {LossType::kMse}};
  subject.data.sample_shape = {64};
  subject.data.target = TargetKind::kValues;
  subject.data.target_shape = {8};
  return subject;
}

inline Subject cnn() {
  ModelConfig model = of_type(ModelType::kCnn);
  model.channels = {32, 64};
  model.dense = 128;
  return images(model, {3, 32, 32}, 64);
}

inline Subject translation() {
  Subject subject{.model = of_type(ModelType::kTransformerTiny),
                  .data = {},
                  .loss = {LossType::kCrossEntropy, 0.1}};
  subject.model.transformer = {.width = 256,
                               .heads = 4,
                               .inner = 512,
                               .encoder_layers = 3,
                               .decoder_layers = 3,
                               .dropout = 0.3,
                               .normalise_first = true};
  subject.data = {{20}, 4000, TargetKind::kSequence, 6000, {22}};
  return subject;
}

// As Vaswani et al. have it: six layers, normalised afterwards.
inline Subject large_translation() {
  Subject subject = translation();
  subject.model = of_type(ModelType::kTransformerBase);
  subject.batch_size = 8;
  return subject;
}

inline Subject language() {
  Subject subject{.model = of_type(ModelType::kLanguageModel), .data = {}, .batch_size = 32};
  subject.model.transformer = {.width = 128,
                               .heads = 4,
                               .inner = 512,
                               .decoder_layers = 4,
                               .dropout = 0.1,
                               .normalise_first = true};
  subject.data = {{64}, 65, TargetKind::kNextTokens, 65, {}};
  return subject;
}

inline const std::map<std::string, std::function<Subject()>> kSubjects = {
    {"mlp", mlp},
    {"regressor", regressor},
    {"cnn", cnn},
    {"resnet18", [] { return images(of_type(ModelType::kResNet18), {3, 32, 32}, 32); }},
    {"resnet34", [] { return images(of_type(ModelType::kResNet34), {3, 32, 32}, 16); }},
    {"resnet50", [] { return images(of_type(ModelType::kResNet50), {3, 32, 32}, 16); }},
    {"transformer_base", large_translation},
    {"transformer_tiny", translation},
    {"language_model", language},
};

}  // namespace scavenger::bench
