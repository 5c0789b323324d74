#include "runtime/torch/models/language_model.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/torch/layers/initial_values.h"
#include "runtime/torch/layers/transformer_layers.h"

namespace scavenger {
namespace {

constexpr double kDeviation = 0.02;  // standard deviation of initial embeddings, as in GPT-2

class LanguageModel final : public Model {
 public:
  LanguageModel(const TransformerConfig& config, const DataShape& data)
      : width_(config.width),
        embedding_(add_parameter("embedding.weight",
                                 {static_cast<std::int64_t>(data.vocabulary), config.width},
                                 normal(kDeviation))),
        position_(add_parameter("position.weight", {data.sample_shape.front(), config.width},
                                normal(kDeviation))),
        dropout_(*this, config.dropout) {
    TransformerShape shape;
    shape.width = config.width;
    shape.heads = config.heads;
    shape.inner = config.inner;
    shape.dropout = config.dropout;
    shape.normalise_first = config.normalise_first;
    shape.smooth = true;
    for (std::int64_t i = 0; i < config.decoder_layers; ++i)
      layers_.emplace_back(*this, "layers." + std::to_string(i), shape);
    norm_.emplace(*this, "norm", config.width);
  }

  at::Tensor forward(const ModelInput& input) override {
    at::Tensor x = at::embedding(embedding_.tensor, input.samples)
                       .add(position_.tensor.narrow(0, 0, input.samples.size(1)));
    x = dropout_(x);
    for (const EncoderLayer& layer : layers_) x = layer(x, {}, true);
    x = (*norm_)(x).view({-1, width_});
    if (input.predicted.size(0) < x.size(0)) x = x.index_select(0, input.predicted);
    return at::linear(x, embedding_.tensor);
  }

 private:
  std::int64_t width_;
  Parameter embedding_;
  Parameter position_;
  DropoutLayer dropout_;
  std::vector<EncoderLayer> layers_;
  std::optional<LayerNormLayer> norm_;
};

}  // namespace

std::unique_ptr<Model> make_language_model(const ModelConfig& config, const DataShape& data) {
  if (data.vocabulary == 0 || data.target != TargetKind::kNextTokens)
    throw ConfigError({.what = "a language model needs text",
                       .where = "model.type",
                       .remedy = "use data of format text, or another model"});
  return std::make_unique<LanguageModel>(config.transformer, data);
}

}  // namespace scavenger
