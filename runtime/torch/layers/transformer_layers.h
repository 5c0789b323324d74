// The blocks of a Transformer: Vaswani et al., "Attention Is All You Need", 2017, fig. 1. Names,
// order and arithmetic are those of torch.nn.TransformerEncoderLayer and TransformerDecoderLayer.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/torch/layers/attention.h"
#include "runtime/torch/layers/dropout.h"
#include "runtime/torch/layers/layers.h"
#include "runtime/torch/layers/model.h"

namespace scavenger {

struct TransformerShape {
  std::int64_t width = 512;  // length of each position's vector
  std::int64_t heads = 8;
  std::int64_t inner = 2048;  // width of the feed-forward layers
  double dropout = 0.1;       // of each sub-layer's output, and within feed-forward layers
  // Normalise each sub-layer's input (pre-norm), not the sum after it.
  bool normalise_first = false;
  bool smooth = false;  // GELU instead of ReLU in the feed-forward layers
};

// Normalises each vector (Ba et al., 2016).
class LayerNormLayer final {
 public:
  LayerNormLayer(Model& model, const std::string& prefix, std::int64_t width);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  Parameter weight_;
  Parameter bias_;
};

// The feed-forward sub-layer, W2 f(W1 x): linear1.*, linear2.*.
class FeedForwardLayer final {
 public:
  FeedForwardLayer(Model& model, const std::string& prefix, const TransformerShape& shape);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  DenseLayer linear1_;
  DenseLayer linear2_;
  DropoutLayer dropout_;
  bool smooth_;
};

// Self-attention, then feed-forward. With `causal` instead of a mask it is a language model's
// block.
class EncoderLayer final {
 public:
  EncoderLayer(Model& model, const std::string& prefix, const TransformerShape& shape);
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& mask, bool causal) const;

 private:
  AttentionLayer attention_;
  FeedForwardLayer feed_forward_;
  LayerNormLayer norm1_;
  LayerNormLayer norm2_;
  DropoutLayer dropout1_;
  DropoutLayer dropout2_;
  bool normalise_first_;
};

// Causal self-attention, attention to the encoder's output, then feed-forward.
class DecoderLayer final {
 public:
  // The state of one layer while a decoder writes word by word.
  struct Memory {
    KeysAndValues source;
    KeysAndValues past;
  };

  DecoderLayer(Model& model, const std::string& prefix, const TransformerShape& shape);
  // `mask` applies to the source; see AttentionLayer::to_memory.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& encoded,
                        const at::Tensor& mask) const;
  Memory remember(const at::Tensor& encoded) const;
  // Computes one more position, x {b, 1, width}.
  at::Tensor go_on(const at::Tensor& x, Memory& memory, const at::Tensor& mask) const;

 private:
  template <typename ToItself>
  at::Tensor pass(at::Tensor x, const ToItself& to_itself, const KeysAndValues& source,
                  const at::Tensor& mask) const;

  AttentionLayer self_attention_;
  AttentionLayer source_attention_;
  FeedForwardLayer feed_forward_;
  LayerNormLayer norm1_;
  LayerNormLayer norm2_;
  LayerNormLayer norm3_;
  DropoutLayer dropout1_;
  DropoutLayer dropout2_;
  DropoutLayer dropout3_;
  bool normalise_first_;
};

// Returns {1, length, width}: sines and cosines of the position, sec. 3.5.
at::Tensor sinusoids(std::int64_t length, std::int64_t width);

}  // namespace scavenger
