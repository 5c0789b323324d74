#include "runtime/torch/models/resnet.h"

#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/torch/layers/layers.h"

namespace scavenger {
namespace {

constexpr std::array<std::int64_t, 4> kStageChannels = {64, 128, 256, 512};

struct Depth {
  std::array<int, 4> blocks;  // blocks of each stage
  bool has_bottlenecks;       // blocks have a 3x3 convolution between two of 1x1
};

const std::map<ModelType, Depth> kDepths = {
    {ModelType::kResNet18, {{2, 2, 2, 2}, false}},
    {ModelType::kResNet34, {{3, 4, 6, 3}, false}},
    {ModelType::kResNet50, {{3, 4, 6, 3}, true}},
};

// A convolution followed by a batch normalisation.
class NormalisedConvolution final {
 public:
  NormalisedConvolution(Model& model, const std::string& convolution, const std::string& norm,
                        const ConvolutionShape& shape)
      : convolution_(model, convolution, shape), norm_(model, norm, shape.outputs) {}
  at::Tensor operator()(const at::Tensor& x) const { return norm_(convolution_(x)); }

 private:
  UnbiasedConvolutionLayer convolution_;
  BatchNormLayer norm_;
};

// y = relu(x' + F(x)): F is a chain of convolutions; x' is x, or a 1x1 convolution of x if the
// shape changes. The first block of each stage but the first halves the image.
class ResidualBlock final {
 public:
  ResidualBlock(Model& model, const std::string& prefix, const std::vector<ConvolutionShape>& chain)
      : downsamples_(chain.front().inputs != chain.back().outputs) {
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      chain_.emplace_back(model, prefix + ".conv" + number, prefix + ".bn" + number, chain[i]);
      stride *= chain[i].stride;
    }
    downsamples_ = downsamples_ || stride != 1;
    if (downsamples_)
      downsample_.emplace(model, prefix + ".downsample.0", prefix + ".downsample.1",
                          ConvolutionShape{chain.front().inputs, chain.back().outputs, 1, stride});
  }

  at::Tensor operator()(const at::Tensor& x) const {
    at::Tensor inner = x;
    for (std::size_t i = 0; i + 1 < chain_.size(); ++i) inner = chain_[i](inner).relu_();
    return chain_.back()(inner).add_(downsample_ ? (*downsample_)(x) : x).relu_();
  }

 private:
  bool downsamples_;
  std::vector<NormalisedConvolution> chain_;
  std::optional<NormalisedConvolution> downsample_;
};

std::vector<ConvolutionShape> block_chain(bool is_bottleneck, std::int64_t inputs,
                                          std::int64_t channels, std::int64_t stride) {
  if (!is_bottleneck) return {{inputs, channels, 3, stride}, {channels, channels, 3, 1}};
  return {
      {inputs, channels, 1, 1}, {channels, channels, 3, stride}, {channels, 4 * channels, 1, 1}};
}

class ResNet final : public Model {
 public:
  ResNet(const Depth& depth, bool has_large_stem, std::int64_t channels, std::int64_t outputs)
      : has_large_stem_(has_large_stem),
        stem_(*this, "conv1", "bn1",
              has_large_stem ? ConvolutionShape{channels, kStageChannels[0], 7, 2}
                             : ConvolutionShape{channels, kStageChannels[0], 3, 1}) {
    std::int64_t inputs = kStageChannels[0];
    for (std::size_t stage = 0; stage < kStageChannels.size(); ++stage)
      for (int block = 0; block < depth.blocks[stage]; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        const auto chain =
            block_chain(depth.has_bottlenecks, inputs, kStageChannels[stage], stride);
        blocks_.emplace_back(
            *this, "layer" + std::to_string(stage + 1) + "." + std::to_string(block), chain);
        inputs = chain.back().outputs;
      }
    fc_.emplace(*this, "fc", inputs, outputs);
  }

  at::Tensor forward(const ModelInput& input) override {
    at::Tensor x = stem_(input.samples).relu_();
    if (has_large_stem_) x = at::max_pool2d(x, 3, 2, 1);
    for (const ResidualBlock& block : blocks_) x = block(x);
    return (*fc_)(x.mean({2, 3}));
  }

 private:
  bool has_large_stem_;
  NormalisedConvolution stem_;
  std::vector<ResidualBlock> blocks_;
  std::optional<DenseLayer> fc_;  // constructed after the blocks, for the order of the parameters
};

}  // namespace

std::unique_ptr<Model> make_resnet(const ModelConfig& config, const DataShape& data) {
  const std::vector<std::int64_t>& shape = data.sample_shape;
  if (data.vocabulary > 0 || shape.size() != 3)
    throw ConfigError({.what = "a resnet needs images, but samples have " +
                               std::to_string(shape.size()) + " dimension(s)",
                       .where = "model.type",
                       .remedy = "use \"mlp\", or give data.sample_shape as channels, height, "
                                 "width"});
  const std::int64_t smallest_side = smallest_resnet_side(config.stem);
  if (std::min(shape[1], shape[2]) < smallest_side)
    throw ConfigError({.what = "images of " + std::to_string(shape[1]) + " x " +
                               std::to_string(shape[2]) + " pixels are too small for this resnet",
                       .where = "model.type",
                       .remedy = "use a cnn, or images of at least " +
                                 std::to_string(smallest_side) + " pixels each way"});
  return std::make_unique<ResNet>(kDepths.at(config.type), config.stem == ResNetStem::kImageNet,
                                  shape[0], output_count(data));
}

}  // namespace scavenger
