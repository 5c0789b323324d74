#include "runtime/config/json_fields.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(ModelType, {{ModelType::kMlp, "mlp"},
                                         {ModelType::kCnn, "cnn"},
                                         {ModelType::kResNet18, "resnet18"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LossType, {{LossType::kAutomatic, "auto"},
                                        {LossType::kCrossEntropy, "cross_entropy"},
                                        {LossType::kMse, "mse"},
                                        {LossType::kL1, "l1"},
                                        {LossType::kBce, "bce"},
                                        {LossType::kModel, "model"}})

ModelConfig model_from(const Json& object) {
  ModelConfig model;
  read(object, "type", model.type);
  read(object, "hidden", model.hidden);
  read(object, "channels", model.channels);
  read(object, "dense", model.dense);
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
      break;
  }
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
