// The model and loss sections of a job's configuration (job_config.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace scavenger {

enum class ModelType {
  kMlp,
  kCnn,
  kResNet18,
  kResNet34,
  kResNet50,
  kTransformerBase,
  kTransformerTiny,
  kLanguageModel,
  kTorchScript,  // a TorchScript file, written by Python
  kPlugin,       // a shared library
  kPython        // a Python file with make_model()
};

// The first layers of a residual network.
enum class ResNetStem {
  kCifar,    // a 3x3 convolution
  kImageNet  // a 7x7 convolution and max pooling, both of stride 2
};

enum class SharedEmbeddings {
  kAll,     // source, target and output, which have one vocabulary
  kTarget,  // target and output
  kNone
};

// The function between the layers of an mlp.
enum class Activation { kRelu, kTanh };

struct TransformerConfig {
  std::int64_t width = 512;
  std::int64_t heads = 8;
  std::int64_t inner = 2048;  // width of the feed-forward layers
  std::int64_t encoder_layers = 6;
  std::int64_t decoder_layers = 6;
  double dropout = 0.1;
  bool normalise_first = false;
  SharedEmbeddings shared_embeddings = SharedEmbeddings::kTarget;

  bool operator==(const TransformerConfig&) const = default;
};

// The initial weights, if they are not random.
struct StartConfig {
  std::filesystem::path weights;    // a safetensors file; empty: random weights
  std::vector<std::string> except;  // name patterns of tensors that start random nevertheless

  bool operator==(const StartConfig&) const = default;
};

struct ModelConfig {
  ModelType type = ModelType::kMlp;
  std::vector<std::int64_t> hidden;           // mlp: widths of the hidden layers
  Activation activation = Activation::kRelu;  // mlp
  std::vector<std::int64_t>
      channels;            // cnn: output channels of each 3x3 convolution (+ ReLU, 2x2 max pooling)
  std::int64_t dense = 0;  // cnn: width of the dense layer before the classes
  ResNetStem stem = ResNetStem::kCifar;  // resnet18, resnet34, resnet50
  TransformerConfig transformer;         // transformer_base, transformer_tiny, language_model
  std::filesystem::path path;            // torchscript, plugin, python
  bool has_own_loop = false;             // python: the file is a script with a loop of its own
  std::vector<std::string> arguments;    // python: words for that script
  StartConfig start;
  std::vector<std::string> freeze;  // name patterns of parameters that are not trained

  bool operator==(const ModelConfig&) const = default;
};

// The smallest side of an image, in pixels. Resnets halve images three times, and twice more with
// the ImageNet stem; the last batch normalisation needs more than one value.
inline std::int64_t smallest_resnet_side(ResNetStem stem) {
  return stem == ResNetStem::kImageNet ? 33 : 9;
}

enum class LossType { kAutomatic, kCrossEntropy, kMse, kL1, kBce, kModel };

// The loss that is minimised. Automatic: cross entropy for labels and tokens, MSE for values.
struct LossConfig {
  LossType type = LossType::kAutomatic;
  double label_smoothing = 0.0;  // cross_entropy: share of the target spread over all classes

  bool operator==(const LossConfig&) const = default;
};

}  // namespace scavenger
