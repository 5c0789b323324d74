#include "runtime/torch/models/mlp.h"

#include <ATen/ops/flatten.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>

#include <functional>
#include <numeric>
#include <string>

#include "runtime/base/error.h"
#include "runtime/torch/layers/layers.h"

namespace scavenger {
namespace {

class Mlp final : public Model {
 public:
  Mlp(std::int64_t features, const ModelConfig& config, std::int64_t outputs)
      : activation_(config.activation) {
    std::int64_t width = features;
    for (const std::int64_t next : config.hidden) {
      add_layer(width, next);
      width = next;
    }
    add_layer(width, outputs);
  }

  at::Tensor forward(const ModelInput& input) override {
    at::Tensor x = layers_.front()(at::flatten(input.samples, 1));
    for (std::size_t i = 1; i < layers_.size(); ++i) x = layers_[i](activate(x));
    return x;
  }

 private:
  void add_layer(std::int64_t inputs, std::int64_t outputs) {
    layers_.emplace_back(*this, "layers." + std::to_string(layers_.size()), inputs, outputs);
  }

  at::Tensor activate(const at::Tensor& x) const {
    return activation_ == Activation::kTanh ? at::tanh(x) : at::relu(x);
  }

  Activation activation_;
  std::vector<DenseLayer> layers_;
};

}  // namespace

std::unique_ptr<Model> make_mlp(const ModelConfig& config, const DataShape& data) {
  if (data.vocabulary > 0)
    throw ConfigError({.what = "an mlp cannot take text",
                       .where = "model.type",
                       .remedy = "use language_model or a transformer"});
  const std::int64_t features = std::accumulate(data.sample_shape.begin(), data.sample_shape.end(),
                                                std::int64_t{1}, std::multiplies<>());
  return std::make_unique<Mlp>(features, config, output_count(data));
}

}  // namespace scavenger
