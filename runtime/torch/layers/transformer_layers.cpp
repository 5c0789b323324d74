#include "runtime/torch/layers/transformer_layers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/relu.h>

#include <cmath>

#include "runtime/torch/layers/initial_values.h"

namespace scavenger {
namespace {

constexpr double kLayerNormFloor = 1e-5;  // PyTorch's default

// Returns x + f(x), with the normalisation before f or after the sum.
template <typename SubLayer>
at::Tensor add_sub_layer(const at::Tensor& x, const LayerNormLayer& norm,
                         const DropoutLayer& dropout, bool normalise_first,
                         const SubLayer& sub_layer) {
  return normalise_first ? x.add(dropout(sub_layer(norm(x)))) : norm(x.add(dropout(sub_layer(x))));
}

}  // namespace

LayerNormLayer::LayerNormLayer(Model& model, const std::string& prefix, std::int64_t width)
    : weight_(model.add_parameter(prefix + ".weight", {width}, all_equal(1.0f))),
      bias_(model.add_parameter(prefix + ".bias", {width}, all_equal(0.0f))) {}

at::Tensor LayerNormLayer::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(-1)}, weight_.tensor, bias_.tensor, kLayerNormFloor);
}

FeedForwardLayer::FeedForwardLayer(Model& model, const std::string& prefix,
                                   const TransformerShape& shape)
    : linear1_(model, prefix + ".linear1", shape.width, shape.inner),
      linear2_(model, prefix + ".linear2", shape.inner, shape.width),
      dropout_(model, shape.dropout),
      smooth_(shape.smooth) {}

at::Tensor FeedForwardLayer::operator()(const at::Tensor& x) const {
  const at::Tensor inner = linear1_(x);
  return linear2_(dropout_(smooth_ ? at::gelu(inner) : at::relu(inner)));
}

EncoderLayer::EncoderLayer(Model& model, const std::string& prefix, const TransformerShape& shape)
    : attention_(model, prefix + ".self_attn", shape.width, shape.heads),
      feed_forward_(model, prefix, shape),
      norm1_(model, prefix + ".norm1", shape.width),
      norm2_(model, prefix + ".norm2", shape.width),
      dropout1_(model, shape.dropout),
      dropout2_(model, shape.dropout),
      normalise_first_(shape.normalise_first) {}

at::Tensor EncoderLayer::operator()(const at::Tensor& x, const at::Tensor& mask,
                                    bool causal) const {
  const at::Tensor attended =
      add_sub_layer(x, norm1_, dropout1_, normalise_first_,
                    [&](const at::Tensor& y) { return attention_.to_itself(y, mask, causal); });
  return add_sub_layer(attended, norm2_, dropout2_, normalise_first_, feed_forward_);
}

DecoderLayer::DecoderLayer(Model& model, const std::string& prefix, const TransformerShape& shape)
    : self_attention_(model, prefix + ".self_attn", shape.width, shape.heads),
      source_attention_(model, prefix + ".multihead_attn", shape.width, shape.heads),
      feed_forward_(model, prefix, shape),
      norm1_(model, prefix + ".norm1", shape.width),
      norm2_(model, prefix + ".norm2", shape.width),
      norm3_(model, prefix + ".norm3", shape.width),
      dropout1_(model, shape.dropout),
      dropout2_(model, shape.dropout),
      dropout3_(model, shape.dropout),
      normalise_first_(shape.normalise_first) {}

at::Tensor DecoderLayer::operator()(const at::Tensor& x, const at::Tensor& encoded,
                                    const at::Tensor& mask) const {
  return pass(
      x, [&](const at::Tensor& y) { return self_attention_.to_itself(y, {}, true); },
      source_attention_.remember(encoded), mask);
}

DecoderLayer::Memory DecoderLayer::remember(const at::Tensor& encoded) const {
  return {source_attention_.remember(encoded), {}};
}

at::Tensor DecoderLayer::go_on(const at::Tensor& x, Memory& memory, const at::Tensor& mask) const {
  return pass(
      x, [&](const at::Tensor& y) { return self_attention_.go_on(y, memory.past); }, memory.source,
      mask);
}

template <typename ToItself>
at::Tensor DecoderLayer::pass(at::Tensor x, const ToItself& to_itself, const KeysAndValues& source,
                              const at::Tensor& mask) const {
  x = add_sub_layer(x, norm1_, dropout1_, normalise_first_, to_itself);
  x = add_sub_layer(x, norm2_, dropout2_, normalise_first_, [&](const at::Tensor& y) {
    return source_attention_.to_memory(y, source, mask);
  });
  return add_sub_layer(x, norm3_, dropout3_, normalise_first_, feed_forward_);
}

at::Tensor sinusoids(std::int64_t length, std::int64_t width) {
  at::Tensor table = at::empty({1, length, width}, at::kFloat);
  float* value = table.data_ptr<float>();
  for (std::int64_t position = 0; position < length; ++position)
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t pair = i / 2 * 2;
      const double exponent = static_cast<double>(pair) / static_cast<double>(width);
      const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
      *value++ = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

}  // namespace scavenger
