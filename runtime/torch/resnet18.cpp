#include "runtime/torch/resnet18.h"

#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/torch/layers.h"

namespace scavenger {
namespace {

constexpr std::array<std::int64_t, 4> kStageChannels = {64, 128, 256, 512};
constexpr int kBlocksPerStage = 2;

// y = relu(x' + F(x)): F is two 3x3 convolutions, and x' is x, or a 1x1 convolution of it where the
// shape changes. All but the first stage halve the image in their first block.
class BasicBlock final {
 public:
  BasicBlock(Model& model, const std::string& prefix, std::int64_t inputs, std::int64_t outputs,
             std::int64_t stride)
      : conv1_(model, prefix + ".conv1", {inputs, outputs, 3, stride}),
        bn1_(model, prefix + ".bn1", outputs),
        conv2_(model, prefix + ".conv2", {outputs, outputs, 3, 1}),
        bn2_(model, prefix + ".bn2", outputs) {
    if (stride == 1 && inputs == outputs) return;
    downsample_.emplace(model, prefix + ".downsample.0",
                        ConvolutionShape{inputs, outputs, 1, stride});
    downsample_norm_.emplace(model, prefix + ".downsample.1", outputs);
  }

  at::Tensor operator()(const at::Tensor& x) const {
    const at::Tensor inner = bn1_(conv1_(x)).relu_();
    const at::Tensor shortcut = downsample_ ? (*downsample_norm_)((*downsample_)(x)) : x;
    return bn2_(conv2_(inner)).add_(shortcut).relu_();
  }

 private:
  UnbiasedConvolutionLayer conv1_;
  BatchNormLayer bn1_;
  UnbiasedConvolutionLayer conv2_;
  BatchNormLayer bn2_;
  std::optional<UnbiasedConvolutionLayer> downsample_;
  std::optional<BatchNormLayer> downsample_norm_;
};

class ResNet18 final : public Model {
 public:
  ResNet18(std::int64_t channels, std::int64_t classes)
      : conv1_(*this, "conv1", {channels, kStageChannels[0], 3, 1}),
        bn1_(*this, "bn1", kStageChannels[0]) {
    std::int64_t inputs = kStageChannels[0];
    for (std::size_t stage = 0; stage < kStageChannels.size(); ++stage) {
      for (int block = 0; block < kBlocksPerStage; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        blocks_.emplace_back(*this,
                             "layer" + std::to_string(stage + 1) + "." + std::to_string(block),
                             inputs, kStageChannels[stage], stride);
        inputs = kStageChannels[stage];
      }
    }
    fc_.emplace(*this, "fc", inputs, classes);
  }

  at::Tensor forward(const at::Tensor& samples) override {
    at::Tensor x = bn1_(conv1_(samples)).relu_();
    for (const BasicBlock& block : blocks_) x = block(x);
    return (*fc_)(x.mean({2, 3}));
  }

 private:
  UnbiasedConvolutionLayer conv1_;
  BatchNormLayer bn1_;
  std::vector<BasicBlock> blocks_;
  std::optional<DenseLayer> fc_;  // after the blocks, as its parameters are in the model
};

}  // namespace

std::unique_ptr<Model> make_resnet18(const ModelConfig&,
                                     const std::vector<std::int64_t>& sample_shape,
                                     std::int64_t classes) {
  if (sample_shape.size() != 3)
    throw ConfigError(
        {.what = "resnet18 needs images, but samples have " + std::to_string(sample_shape.size()) +
                 " dimension(s)",
         .where = "model.type",
         .remedy = "use \"mlp\", or give data.sample_shape as channels, height, width"});
  if (std::min(sample_shape[1], sample_shape[2]) < kResNet18SmallestSide)
    throw ConfigError({.what = "images of " + std::to_string(sample_shape[1]) + " x " +
                               std::to_string(sample_shape[2]) +
                               " pixels are too small for resnet18",
                       .where = "model.type",
                       .remedy = "use a cnn, or images of at least " +
                                 std::to_string(kResNet18SmallestSide) + " pixels each way"});
  return std::make_unique<ResNet18>(sample_shape[0], classes);
}

}  // namespace scavenger
