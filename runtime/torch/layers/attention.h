// Multi-head attention: Vaswani et al., "Attention Is All You Need", 2017, sec. 3.2.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/torch/layers/model.h"

namespace scavenger {

// The keys and values that queries attend to: {b, heads, length, width / heads} each.
struct KeysAndValues {
  at::Tensor keys;
  at::Tensor values;
};

// Named as in torch.nn.MultiheadAttention: in_proj_weight, in_proj_bias, out_proj.weight,
// out_proj.bias. There is no dropout of attention weights, as in the paper.
class AttentionLayer final {
 public:
  AttentionLayer(Model& model, const std::string& prefix, std::int64_t width, std::int64_t heads);

  // Self-attention: each position of x {b, t, width} attends to all positions of x that `mask`
  // permits, or, if `causal`, to itself and the previous positions.
  at::Tensor to_itself(const at::Tensor& x, const at::Tensor& mask, bool causal) const;
  // Each position of x attends to `memory`. `mask` broadcasts to {b, heads, t, memory length}; true
  // permits a position; an undefined mask permits all.
  at::Tensor to_memory(const at::Tensor& x, const KeysAndValues& memory,
                       const at::Tensor& mask) const;
  KeysAndValues remember(const at::Tensor& memory) const;
  // Self-attention of one more position x {b, 1, width}, which is appended to `past` and attends to
  // all of it.
  at::Tensor go_on(const at::Tensor& x, KeysAndValues& past) const;

 private:
  at::Tensor heads_of(const at::Tensor& x) const;
  at::Tensor attend(const at::Tensor& queries, const KeysAndValues& memory, const at::Tensor& mask,
                    bool causal) const;

  Parameter in_weight_;   // {3 width, width}: for queries, keys, values
  Parameter in_bias_;     // {3 width}
  Parameter out_weight_;  // {width, width}
  Parameter out_bias_;    // {width}
  std::int64_t width_;
  std::int64_t heads_;
};

}  // namespace scavenger
