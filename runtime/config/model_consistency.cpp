#include <fmt/format.h>

#include <algorithm>

#include "runtime/config/consistency_parts.h"
#include "runtime/config/metric.h"

namespace scavenger {
namespace {

class ModelCheck final {
 public:
  ModelCheck(const JobConfig& config, std::vector<Violation>& violations)
      : config_(config), violations_(violations) {}

  void run() {
    check_model();
    check_loss();
  }

 private:
  void check_model();
  void check_loss();

  void fail(const std::string& place, std::string what, std::string remedy) {
    report(violations_, place, std::move(what), std::move(remedy));
  }

  const JobConfig& config_;
  std::vector<Violation>& violations_;
};

void ModelCheck::check_model() {
  if (config_.model.type == ModelType::kMlp) return;
  if (!has_images(config_.data)) {
    fail("/model/type", "a convolutional network needs images", kImageRemedy);
    return;
  }
  const auto shape = known_image_shape(config_.data);
  if (!shape) return;
  if (config_.model.type == ModelType::kResNet18) {
    if (std::min(shape->at(1), shape->at(2)) < kResNet18SmallestSide)
      fail("/model/type",
           fmt::format("{} x {} pixels are too small for resnet18", shape->at(1), shape->at(2)),
           fmt::format("use a cnn, or images of at least {0} x {0} pixels", kResNet18SmallestSide));
    return;
  }
  const std::size_t layers = config_.model.channels.size();
  const std::int64_t side = std::min(shape->at(1), shape->at(2));
  std::size_t most_layers = 0;
  while ((side >> (most_layers + 1)) > 0) ++most_layers;
  if (layers > most_layers)
    fail("/model/channels",
         fmt::format("nothing is left of {} x {} pixels after {} times 2x2 pooling", shape->at(1),
                     shape->at(2), layers),
         fmt::format("use at most {} convolutions", most_layers));
}

void ModelCheck::check_loss() {
  const bool has_classes = config_.data.classes > 0 || is_text(config_.data.train.format);
  switch (loss_type(config_)) {
    case LossType::kAutomatic:
    case LossType::kModel:
      return;
    case LossType::kCrossEntropy:
      if (!has_classes)
        fail("/loss/type", "cross entropy needs classes, and these targets are values",
             "set data.classes where they are labels, or use mse, l1 or bce");
      return;
    case LossType::kMse:
    case LossType::kL1:
    case LossType::kBce:
      if (has_classes)
        fail("/loss/type", "this loss compares values, and these targets are classes",
             is_text(config_.data.train.format) ? "use cross_entropy"
                                                : "use cross_entropy, or leave out data.classes");
      return;
  }
}

}  // namespace

void check_model_config(const JobConfig& config, std::vector<Violation>& violations) {
  ModelCheck(config, violations).run();
}

}  // namespace scavenger
