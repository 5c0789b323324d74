#include "runtime/torch/models/cnn.h"

#include <ATen/ops/flatten.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <algorithm>
#include <string>

#include "runtime/base/error.h"
#include "runtime/torch/layers/layers.h"

namespace scavenger {
namespace {

class Cnn final : public Model {
 public:
  Cnn(const ModelConfig& config, const std::vector<std::int64_t>& sample_shape,
      std::int64_t outputs) {
    std::int64_t channels = sample_shape[0];
    std::int64_t height = sample_shape[1];
    std::int64_t width = sample_shape[2];
    for (const std::int64_t next : config.channels) {
      convolutions_.emplace_back(*this, "convolutions." + std::to_string(convolutions_.size()),
                                 ConvolutionShape{.inputs = channels, .outputs = next});
      channels = next;
      height /= 2;
      width /= 2;
    }
    std::int64_t features = channels * height * width;
    if (config.dense > 0) {
      add_dense(features, config.dense);
      features = config.dense;
    }
    add_dense(features, outputs);
  }

  at::Tensor forward(const ModelInput& input) override {
    at::Tensor x = input.samples;
    for (const ConvolutionLayer& convolution : convolutions_)
      x = at::max_pool2d(at::relu(convolution(x)), 2);
    x = dense_.front()(at::flatten(x, 1));
    for (std::size_t i = 1; i < dense_.size(); ++i) x = dense_[i](at::relu(x));
    return x;
  }

 private:
  void add_dense(std::int64_t inputs, std::int64_t outputs) {
    dense_.emplace_back(*this, "dense." + std::to_string(dense_.size()), inputs, outputs);
  }

  std::vector<ConvolutionLayer> convolutions_;
  std::vector<DenseLayer> dense_;
};

}  // namespace

std::unique_ptr<Model> make_cnn(const ModelConfig& config, const DataShape& data) {
  const std::vector<std::int64_t>& sample_shape = data.sample_shape;
  if (data.vocabulary > 0 || sample_shape.size() != 3)
    throw ConfigError(
        {.what = "a convolutional network needs images, but samples have " +
                 std::to_string(sample_shape.size()) + " dimension(s)",
         .where = "model.type",
         .remedy = "use \"mlp\", or give data.sample_shape as channels, height, width"});
  const std::int64_t smaller_side = std::min(sample_shape[1], sample_shape[2]);
  if (smaller_side >> config.channels.size() == 0)
    throw ConfigError({.what = "images of " + std::to_string(sample_shape[1]) + " x " +
                               std::to_string(sample_shape[2]) +
                               " pixels are too small to be halved " +
                               std::to_string(config.channels.size()) + " times",
                       .where = "model.channels",
                       .remedy = "give fewer entries: each halves the image"});
  return std::make_unique<Cnn>(config, sample_shape, output_count(data));
}

}  // namespace scavenger
