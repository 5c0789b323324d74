#include "runtime/torch/layers/attention.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <optional>

#include "runtime/base/check.h"
#include "runtime/torch/layers/dense.h"
#include "runtime/torch/layers/initial_values.h"

namespace scavenger {

AttentionLayer::AttentionLayer(Model& model, const std::string& prefix, std::int64_t width,
                               std::int64_t heads)
    : in_weight_(model.add_parameter(prefix + ".in_proj_weight", {3 * width, width},
                                     uniform_by_both_fans(width, 3 * width))),
      in_bias_(model.add_parameter(prefix + ".in_proj_bias", {3 * width}, all_equal(0.0f))),
      out_weight_(model.add_parameter(prefix + ".out_proj.weight", {width, width},
                                      uniform_by_both_fans(width, width))),
      out_bias_(model.add_parameter(prefix + ".out_proj.bias", {width}, all_equal(0.0f))),
      width_(width),
      heads_(heads) {
  SCAVENGER_CHECK(width % heads == 0);
}

at::Tensor AttentionLayer::to_itself(const at::Tensor& x, const at::Tensor& mask,
                                     bool causal) const {
  const auto parts = dense(x, in_weight_, in_bias_).chunk(3, -1);
  return attend(heads_of(parts[0]), {heads_of(parts[1]), heads_of(parts[2])}, mask, causal);
}

at::Tensor AttentionLayer::to_memory(const at::Tensor& x, const KeysAndValues& memory,
                                     const at::Tensor& mask) const {
  const at::Tensor queries =
      at::linear(x, in_weight_.tensor.narrow(0, 0, width_), in_bias_.tensor.narrow(0, 0, width_));
  return attend(heads_of(queries), memory, mask, false);
}

KeysAndValues AttentionLayer::remember(const at::Tensor& memory) const {
  const auto parts = at::linear(memory, in_weight_.tensor.narrow(0, width_, 2 * width_),
                                in_bias_.tensor.narrow(0, width_, 2 * width_))
                         .chunk(2, -1);
  return {heads_of(parts[0]), heads_of(parts[1])};
}

at::Tensor AttentionLayer::go_on(const at::Tensor& x, KeysAndValues& past) const {
  const auto parts = dense(x, in_weight_, in_bias_).chunk(3, -1);
  const KeysAndValues now{heads_of(parts[1]), heads_of(parts[2])};
  past.keys = past.keys.defined() ? at::cat({past.keys, now.keys}, 2) : now.keys;
  past.values = past.values.defined() ? at::cat({past.values, now.values}, 2) : now.values;
  return attend(heads_of(parts[0]), past, {}, false);
}

// {b, t, width} -> {b, heads, t, width / heads}
at::Tensor AttentionLayer::heads_of(const at::Tensor& x) const {
  return x.view({x.size(0), x.size(1), heads_, width_ / heads_}).transpose(1, 2);
}

at::Tensor AttentionLayer::attend(const at::Tensor& queries, const KeysAndValues& memory,
                                  const at::Tensor& mask, bool causal) const {
  const std::optional<at::Tensor> given = mask.defined() ? std::optional(mask) : std::nullopt;
  const at::Tensor found = at::scaled_dot_product_attention(queries, memory.keys, memory.values,
                                                            given, /*dropout_p=*/0.0, causal);
  return dense(found.transpose(1, 2).reshape({queries.size(0), queries.size(2), width_}),
               out_weight_, out_bias_);
}

}  // namespace scavenger
