// A model of one's own in C++: a small network with dropout, batch normalisation and its own loss.
#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "runtime/torch/model_plugin.h"

struct Net : torch::nn::Module {
  explicit Net(const scavenger::PluginData& data) {
    std::int64_t features = 1;
    for (const std::int64_t side : data.sample_shape) features *= side;
    first = register_module("first", torch::nn::Linear(features, 16));
    norm = register_module("norm", torch::nn::BatchNorm1d(16));
    dropout = register_module("dropout", torch::nn::Dropout(0.1));
    second = register_module("second", torch::nn::Linear(16, data.outputs));
  }

  torch::Tensor forward(const torch::Tensor& samples) {
    return second(dropout(norm(first(samples.flatten(1))).relu()));
  }

  // For "loss": {"type": "model"}.
  torch::Tensor loss(const torch::Tensor& samples, const torch::Tensor& targets) {
    return torch::nn::functional::cross_entropy(forward(samples), targets);
  }

  torch::nn::Linear first{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Dropout dropout{nullptr};
  torch::nn::Linear second{nullptr};
};

SCAVENGER_MODEL_PLUGIN(Net)
