// The parts of a job's configuration that say what is trained: model and loss (job_config.h).
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger {

enum class ModelType { kMlp, kCnn, kResNet18 };

struct ModelConfig {
  ModelType type = ModelType::kMlp;
  std::vector<std::int64_t> hidden;  // mlp: widths of the hidden layers
  std::vector<std::int64_t>
      channels;            // cnn: output channels of each 3x3 convolution (+ ReLU, 2x2 max pooling)
  std::int64_t dense = 0;  // cnn: width of the dense layer before the classes

  bool operator==(const ModelConfig&) const = default;
};

// resnet18 halves images three times; a batch normalisation needs more than one value after that.
inline constexpr std::int64_t kResNet18SmallestSide = 9;  // pixels

enum class LossType { kAutomatic, kCrossEntropy, kMse, kL1, kBce, kModel };

// What is minimised. Automatic: cross entropy of labels and tokens, MSE of values.
struct LossConfig {
  LossType type = LossType::kAutomatic;
  double label_smoothing = 0.0;  // cross_entropy: share of the target that all classes have

  bool operator==(const LossConfig&) const = default;
};

}  // namespace scavenger
