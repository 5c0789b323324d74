// The models of test/bench/peers/peer_models.py in LibTorch's own modules.
#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <string>
#include <vector>

namespace scavenger::bench {

inline std::vector<std::int64_t> shape_of(const std::string& model) {
  if (model == "mlp") return {784};
  if (model == "cnn") return {1, 28, 28};
  return {3, 32, 32};
}

inline torch::nn::Conv2d convolution(std::int64_t inputs, std::int64_t outputs, std::int64_t size,
                                     std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(inputs, outputs, size).stride(stride).padding(size / 2).bias(false));
}

class BlockImpl final : public torch::nn::Module {
 public:
  BlockImpl(std::int64_t inputs, std::int64_t outputs, std::int64_t stride)
      : conv1_(register_module("conv1", convolution(inputs, outputs, 3, stride))),
        bn1_(register_module("bn1", torch::nn::BatchNorm2d(outputs))),
        conv2_(register_module("conv2", convolution(outputs, outputs, 3, 1))),
        bn2_(register_module("bn2", torch::nn::BatchNorm2d(outputs))) {
    if (stride == 1 && inputs == outputs) return;
    shortcut_ =
        register_module("shortcut", torch::nn::Sequential(convolution(inputs, outputs, 1, stride),
                                                          torch::nn::BatchNorm2d(outputs)));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor inner = bn1_(conv1_(x)).relu_();
    return bn2_(conv2_(inner)).add_(shortcut_ ? shortcut_->forward(x) : x).relu_();
  }

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d bn1_;
  torch::nn::Conv2d conv2_;
  torch::nn::BatchNorm2d bn2_;
  torch::nn::Sequential shortcut_{nullptr};
};
TORCH_MODULE(Block);

// For images of 32 x 32: a 3 x 3 stem without pooling.
inline torch::nn::Sequential make_resnet18() {
  torch::nn::Sequential model(convolution(3, 64, 3, 1), torch::nn::BatchNorm2d(64),
                              torch::nn::ReLU(torch::nn::ReLUOptions().inplace(true)));
  std::int64_t inputs = 64;
  for (const std::int64_t outputs : {64, 128, 256, 512}) {
    model->push_back(Block(inputs, outputs, outputs == 64 ? 1 : 2));
    model->push_back(Block(outputs, outputs, 1));
    inputs = outputs;
  }
  model->push_back(torch::nn::AdaptiveAvgPool2d(1));
  model->push_back(torch::nn::Flatten());
  model->push_back(torch::nn::Linear(512, 10));
  return model;
}

inline torch::nn::Sequential make_model(const std::string& name) {
  using torch::nn::Conv2d, torch::nn::Conv2dOptions, torch::nn::Flatten, torch::nn::Linear,
      torch::nn::MaxPool2d, torch::nn::ReLU, torch::nn::Sequential;
  if (name == "mlp")
    return Sequential(Linear(784, 512), ReLU(), Linear(512, 512), ReLU(), Linear(512, 10));
  if (name == "cnn")
    return Sequential(Conv2d(Conv2dOptions(1, 16, 3).padding(1)), ReLU(), MaxPool2d(2),
                      Conv2d(Conv2dOptions(16, 32, 3).padding(1)), ReLU(), MaxPool2d(2), Flatten(),
                      Linear(32 * 7 * 7, 64), ReLU(), Linear(64, 10));
  return make_resnet18();
}

}  // namespace scavenger::bench
