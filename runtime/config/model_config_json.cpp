#include <string>

#include "runtime/config/json_fields.h"

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
                                         {ModelType::kPlugin, "plugin"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ResNetStem,
                             {{ResNetStem::kCifar, "cifar"}, {ResNetStem::kImageNet, "imagenet"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SharedEmbeddings, {{SharedEmbeddings::kAll, "all"},
                                                {SharedEmbeddings::kTarget, "target"},
                                                {SharedEmbeddings::kNone, "none"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LossType, {{LossType::kAutomatic, "auto"},
                                        {LossType::kCrossEntropy, "cross_entropy"},
                                        {LossType::kMse, "mse"},
                                        {LossType::kL1, "l1"},
                                        {LossType::kBce, "bce"},
                                        {LossType::kModel, "model"}})

namespace {

bool is_encoder_decoder(ModelType type) {
  return type == ModelType::kTransformerBase || type == ModelType::kTransformerTiny;
}

TransformerConfig transformer_from(const Json& object) {
  TransformerConfig transformer;
  read(object, "width", transformer.width);
  read(object, "heads", transformer.heads);
  read(object, "inner", transformer.inner);
  read(object, "encoder_layers", transformer.encoder_layers);
  read(object, "decoder_layers", transformer.decoder_layers);
  read(object, "layers", transformer.decoder_layers);
  read(object, "dropout", transformer.dropout);
  transformer.normalise_first = object.value("norm", "post") == "pre";
  read(object, "shared_embeddings", transformer.shared_embeddings);
  return transformer;
}

void write_transformer(const ModelConfig& model, Json& object) {
  const TransformerConfig& transformer = model.transformer;
  object["width"] = transformer.width;
  object["heads"] = transformer.heads;
  object["inner"] = transformer.inner;
  if (is_encoder_decoder(model.type)) {
    object["encoder_layers"] = transformer.encoder_layers;
    object["decoder_layers"] = transformer.decoder_layers;
    object["shared_embeddings"] = transformer.shared_embeddings;
  } else {
    object["layers"] = transformer.decoder_layers;
  }
  object["dropout"] = transformer.dropout;
  object["norm"] = transformer.normalise_first ? "pre" : "post";
}

}  // namespace

ModelConfig model_from(const Json& object) {
  ModelConfig model;
  read(object, "type", model.type);
  read(object, "hidden", model.hidden);
  read(object, "channels", model.channels);
  read(object, "dense", model.dense);
  read(object, "stem", model.stem);
  if (object.contains("heads")) model.transformer = transformer_from(object);
  model.path = object.value("path", "");
  if (object.contains("start")) {
    model.start.weights = object.at("start").at("weights").get<std::string>();
    read(object.at("start"), "except", model.start.except);
  }
  read(object, "freeze", model.freeze);
  return model;
}

Json model_to_json(const ModelConfig& model) {
  Json object = {{"type", model.type}};
  switch (model.type) {
    case ModelType::kMlp:
      object["hidden"] = model.hidden;
      break;
    case ModelType::kCnn:
      object["channels"] = model.channels;
      object["dense"] = model.dense;
      break;
    case ModelType::kResNet18:
    case ModelType::kResNet34:
    case ModelType::kResNet50:
      object["stem"] = model.stem;
      break;
    case ModelType::kTransformerBase:
    case ModelType::kTransformerTiny:
    case ModelType::kLanguageModel:
      write_transformer(model, object);
      break;
    case ModelType::kTorchScript:
    case ModelType::kPlugin:
      object["path"] = model.path.string();
      break;
  }
  if (!model.start.weights.empty())
    object["start"] = {{"weights", model.start.weights.string()}, {"except", model.start.except}};
  object["freeze"] = model.freeze;
  return object;
}

LossConfig loss_from(const Json& object) {
  LossConfig loss;
  read(object, "type", loss.type);
  read(object, "label_smoothing", loss.label_smoothing);
  return loss;
}

Json loss_to_json(const LossConfig& loss) {
  Json object = {{"type", loss.type}};
  if (loss.type == LossType::kCrossEntropy) object["label_smoothing"] = loss.label_smoothing;
  return object;
}

}  // namespace scavenger
