#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/text.h"
#include "runtime/config/consistency_parts.h"
#include "runtime/config/metric.h"
#include "runtime/config/placement.h"

namespace scavenger {
namespace {

// The most weights of one layer: 256 GiB, more than a worker has.
constexpr std::uint64_t kMostWeights = std::uint64_t{1} << 36;

// Returns whether the user wrote the model, so that its inputs and outputs are not known here.
bool is_foreign(const ModelConfig& model) {
  return model.type == ModelType::kTorchScript || model.type == ModelType::kPlugin ||
         model.type == ModelType::kPython;
}

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
  void check_fine_tuning();
  void check_python();
  void check_transformer(DataFormat format, const char* what, const char* name);
  std::optional<std::vector<std::int64_t>> image_shape();
  void check_resnet();
  void check_cnn();
  void check_mlp();
  void check_loss();

  void fail(const std::string& place, std::string what, std::string remedy) {
    report(violations_, place, std::move(what), std::move(remedy));
  }

  const JobConfig& config_;
  std::vector<Violation>& violations_;
};

void ModelCheck::check_model() {
  check_fine_tuning();
  if (is_python(config_.data.train.format) && config_.model.type != ModelType::kPython)
    fail("/data/train/format", "only a model in Python has data in Python",
         "use a model of type python, or another format");
  if (config_.optimizer.type == OptimizerType::kPython && config_.model.type != ModelType::kPython)
    fail("/optimizer/type", "only a model in Python has its optimizer in Python",
         "use sgd, adam or adamw");
  switch (config_.model.type) {
    case ModelType::kMlp:
      return check_mlp();
    case ModelType::kCnn:
      return check_cnn();
    case ModelType::kResNet18:
    case ModelType::kResNet34:
    case ModelType::kResNet50:
      return check_resnet();
    case ModelType::kTransformerBase:
    case ModelType::kTransformerTiny:
      return check_transformer(DataFormat::kParallelText, "pairs of sentences", "parallel_text");
    case ModelType::kLanguageModel:
      return check_transformer(DataFormat::kText, "text", "text");
    case ModelType::kTorchScript:
    case ModelType::kPlugin:
      return;
    case ModelType::kPython:
      return check_python();
  }
}

// What the worker of Python models does not do.
void ModelCheck::check_python() {
  if (config_.sync.strategy == SyncStrategy::kGloo || config_.sync.strategy == SyncStrategy::kNccl)
    fail("/sync/strategy", "models in Python are trained with parameter servers",
         "use parameter_server");
  if (adds_up_by_collective(config_))
    fail("/sync/hierarchy", "workers of models in Python add up in shared memory", "use on or off");
  if (config_.data.train.format == DataFormat::kParallelText)
    fail("/data/train/format", "models in Python take no pairs of sentences of this format",
         "read them in make_dataset(split), with the format python");
  if (config_.model.has_own_loop && config_.data.train.format != DataFormat::kPython)
    fail("/data/train/format", "a script brings its own data", "use the format python");
  if (config_.model.has_own_loop && config_.compute.micro_batch != 0)
    fail("/compute/micro_batch", "a script computes its batches by itself, in one pass",
         "leave it out, or divide batches in the script");
  if (config_.compute.precision == Precision::kFloat16)
    fail("/compute/precision", "models in Python are not computed in float16",
         "use bfloat16, whose losses need no scale");
  if (config_.model.has_own_loop && config_.compute.precision != Precision::kFloat32)
    fail("/compute/precision", "a script chooses its precision by itself",
         "use torch.autocast in the script");
  if (config_.compute.prepare_images == ImagePreparation::kDevice)
    fail("/compute/prepare_images", "a model in Python gets images that are ready",
         "leave it at auto");
  if (config_.model.has_own_loop && config_.data.validation_share > 0.0)
    fail("/data/validation_share", "a script holds samples back by itself",
         "leave it out, and call scavenger.evaluate(function, dataset) with those samples");
  if (!config_.model.has_own_loop && !config_.model.arguments.empty())
    fail("/model/arguments", "only a script has a command line", "leave them out");
  if (is_python(config_.data.train.format) && !has_images(config_.data) && config_.data.normalise)
    fail("/data/normalise", "data in Python are normalised in Python", "leave it out");
}

void ModelCheck::check_mlp() {
  if (is_text(config_.data.train.format))
    fail("/model/type", "an mlp takes no text", "use language_model or transformer_tiny");
  const auto& hidden = config_.model.hidden;
  for (std::size_t i = 0; i + 1 < hidden.size(); ++i) {
    const auto inputs = static_cast<std::uint64_t>(hidden[i]);
    const auto outputs = static_cast<std::uint64_t>(hidden[i + 1]);
    if (inputs <= kMostWeights / outputs) continue;
    fail("/model/hidden",
         fmt::format("a layer of {} x {} weights would take {}", inputs, outputs,
                     format_bytes(inputs * outputs * sizeof(float))),
         "use narrower layers: one may take up to " + format_bytes(kMostWeights * sizeof(float)));
    return;
  }
}

// Checkpoints do not contain frozen parameters, so a file must provide them.
void ModelCheck::check_fine_tuning() {
  if (!config_.model.freeze.empty() && config_.model.start.weights.empty() &&
      !is_foreign(config_.model))
    fail("/model/freeze", "parameters would be frozen at random values",
         "name weights to begin with in model.start, or freeze nothing");
}

void ModelCheck::check_transformer(DataFormat format, const char* what, const char* name) {
  if (config_.data.train.format != format)
    fail("/model/type", fmt::format("this model needs {}", what),
         fmt::format("use data of format {}, or another model", name));
  const TransformerConfig& transformer = config_.model.transformer;
  if (transformer.width % transformer.heads != 0)
    fail("/model/heads",
         fmt::format("{} heads cannot share a width of {}", transformer.heads, transformer.width),
         "use a number that divides the width");
  if (format == DataFormat::kParallelText && !config_.data.vocabulary.shared &&
      transformer.shared_embeddings == SharedEmbeddings::kAll)
    fail("/model/shared_embeddings", "one embedding cannot serve two vocabularies",
         "set data.vocabulary.shared to true, or share only \"target\"");
}

std::optional<std::vector<std::int64_t>> ModelCheck::image_shape() {
  if (has_images(config_.data)) return known_image_shape(config_.data);
  fail("/model/type", "a convolutional network needs images", kImageRemedy);
  return std::nullopt;
}

void ModelCheck::check_resnet() {
  const auto shape = image_shape();
  const std::int64_t smallest = smallest_resnet_side(config_.model.stem);
  if (shape && std::min(shape->at(1), shape->at(2)) < smallest)
    fail("/model/type",
         fmt::format("{} x {} pixels are too small for a resnet", shape->at(1), shape->at(2)),
         fmt::format("use a cnn, or images of at least {0} x {0} pixels", smallest));
}

void ModelCheck::check_cnn() {
  const auto shape = image_shape();
  if (!shape) return;
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
      return;
    case LossType::kModel:
      if (!is_foreign(config_.model))
        fail("/loss/type", "only a torchscript or plugin model can have a loss of its own",
             "name a loss: cross_entropy, mse, l1 or bce");
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
