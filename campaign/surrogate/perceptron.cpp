#include "campaign/surrogate/perceptron.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/safetensors/safetensors.h"

namespace scavenger::surrogate {
namespace {

bool is_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

std::vector<float> floats_of(const TensorEntry& entry) {
  std::vector<float> values(entry.bytes.size() / sizeof(float));
  std::memcpy(values.data(), entry.bytes.data(), values.size() * sizeof(float));
  return values;
}

[[noreturn]] void refuse(const std::filesystem::path& file, std::string what) {
  throw CheckpointError({.what = std::move(what),
                         .where = file.string(),
                         .remedy = "export it from a trained mlp with scavenger-export"});
}

}  // namespace

Perceptron::Perceptron(std::vector<DenseWeights> layers, Activation activation)
    : layers_(std::move(layers)), activation_(activation) {
  SCAVENGER_CHECK(!layers_.empty());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const DenseWeights& layer = layers_[i];
    SCAVENGER_CHECK(layer.weight.size() == layer.inputs * layer.outputs);
    SCAVENGER_CHECK(layer.bias.size() == layer.outputs);
    SCAVENGER_CHECK(i == 0 || layer.inputs == layers_[i - 1].outputs);
    if (!is_finite(layer.weight) || !is_finite(layer.bias))
      throw DataError({.what = "a weight of the network is not a number",
                       .where = fmt::format("layers.{}", i),
                       .remedy = "train it with a smaller learning rate"});
  }
}

std::vector<double> Perceptron::operator()(std::span<const double> x) const {
  SCAVENGER_CHECK(x.size() == inputs());
  std::vector<double> values(x.begin(), x.end()), next;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const DenseWeights& layer = layers_[i];
    next.assign(layer.bias.begin(), layer.bias.end());
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      const float* const row = layer.weight.data() + o * layer.inputs;
      for (std::size_t k = 0; k < layer.inputs; ++k)
        next[o] += static_cast<double>(row[k]) * values[k];
      if (i + 1 < layers_.size())
        next[o] = activation_ == Activation::kTanh ? std::tanh(next[o]) : std::max(0.0, next[o]);
    }
    values.swap(next);
  }
  return values;
}

Perceptron read_perceptron(const std::filesystem::path& path, Activation activation) {
  const SafetensorsFile file(path);
  std::vector<DenseWeights> layers;
  for (std::size_t i = 0;; ++i) {
    const TensorEntry* const weight = file.content().find(fmt::format("layers.{}.weight", i));
    const TensorEntry* const bias = file.content().find(fmt::format("layers.{}.bias", i));
    if (weight == nullptr && bias == nullptr) break;
    if (weight == nullptr || bias == nullptr)
      refuse(path, fmt::format("layers.{} has no weight or no bias", i));
    if (weight->type != ElementType::kF32 || bias->type != ElementType::kF32 ||
        weight->shape.size() != 2 || bias->shape.size() != 1 || weight->shape[0] != bias->shape[0])
      refuse(path, fmt::format("layers.{} is no dense layer of F32", i));
    if (!layers.empty() && std::cmp_not_equal(layers.back().outputs, weight->shape[1]))
      refuse(path, fmt::format("layers.{} does not fit the layer before", i));
    layers.push_back({.inputs = static_cast<std::size_t>(weight->shape[1]),
                      .outputs = static_cast<std::size_t>(weight->shape[0]),
                      .weight = floats_of(*weight),
                      .bias = floats_of(*bias)});
  }
  if (layers.empty()) refuse(path, "there is no tensor layers.0.weight");
  return Perceptron(std::move(layers), activation);
}

}  // namespace scavenger::surrogate
