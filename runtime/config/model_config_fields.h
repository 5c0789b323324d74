// Private to job_config_json.cpp: the fields of the model and the loss in a configuration
// (config_fields.h).
#pragma once

#include "runtime/config/config_fields.h"
#include "runtime/config/model_config.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(ModelType, {{ModelType::kMlp, "mlp"},
                                         {ModelType::kCnn, "cnn"},
                                         {ModelType::kResNet18, "resnet18"},
                                         {ModelType::kResNet34, "resnet34"},
                                         {ModelType::kResNet50, "resnet50"},
                                         {ModelType::kTransformerBase, "transformer_base"},
                                         {ModelType::kTransformerTiny, "transformer_tiny"},
                                         {ModelType::kLanguageModel, "language_model"},
                                         {ModelType::kTorchScript, "torchscript"},
                                         {ModelType::kPlugin, "plugin"},
                                         {ModelType::kPython, "python"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ResNetStem,
                             {{ResNetStem::kCifar, "cifar"}, {ResNetStem::kImageNet, "imagenet"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Activation, {{Activation::kRelu, "relu"}, {Activation::kTanh, "tanh"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SharedEmbeddings, {{SharedEmbeddings::kAll, "all"},
                                                {SharedEmbeddings::kTarget, "target"},
                                                {SharedEmbeddings::kNone, "none"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LossType, {{LossType::kAutomatic, "auto"},
                                        {LossType::kCrossEntropy, "cross_entropy"},
                                        {LossType::kMse, "mse"},
                                        {LossType::kL1, "l1"},
                                        {LossType::kBce, "bce"},
                                        {LossType::kModel, "model"}})

inline bool is_encoder_decoder(ModelType type) {
  return type == ModelType::kTransformerBase || type == ModelType::kTransformerTiny;
}

template <typename Fields, typename Transformer>
void visit_transformer(Fields& field, Transformer& transformer, bool has_encoder) {
  field("width", transformer.width);
  field("heads", transformer.heads);
  field("inner", transformer.inner);
  if (has_encoder) {
    field("encoder_layers", transformer.encoder_layers);
    field("decoder_layers", transformer.decoder_layers);
    field("shared_embeddings", transformer.shared_embeddings);
  } else {
    field("layers", transformer.decoder_layers);
  }
  field("dropout", transformer.dropout);
  field.choice("norm", transformer.normalise_first, "post", "pre");
}

template <typename Fields, MaybeConst<StartConfig> T>
void visit_fields(Fields& field, T& start) {
  field("weights", start.weights);
  field("except", start.except);
}

template <typename Fields, MaybeConst<ModelConfig> T>
void visit_fields(Fields& field, T& model) {
  field("type", model.type);
  switch (model.type) {
    case ModelType::kMlp:
      field("hidden", model.hidden);
      field("activation", model.activation);
      break;
    case ModelType::kCnn:
      field("channels", model.channels);
      field("dense", model.dense);
      break;
    case ModelType::kResNet18:
    case ModelType::kResNet34:
    case ModelType::kResNet50:
      field("stem", model.stem);
      break;
    case ModelType::kTransformerBase:
    case ModelType::kTransformerTiny:
    case ModelType::kLanguageModel:
      visit_transformer(field, model.transformer, is_encoder_decoder(model.type));
      break;
    case ModelType::kTorchScript:
    case ModelType::kPlugin:
      field("path", model.path);
      break;
    case ModelType::kPython:
      field("file", model.path);
      field.choice("loop", model.has_own_loop, "scavenger", "script");
      field("arguments", model.arguments);
      return;
  }
  field.unless_empty("start", model.start);
  field("freeze", model.freeze);
}

template <typename Fields, MaybeConst<LossConfig> T>
void visit_fields(Fields& field, T& loss) {
  field("type", loss.type);
  if (loss.type == LossType::kCrossEntropy) field("label_smoothing", loss.label_smoothing);
}

}  // namespace scavenger
