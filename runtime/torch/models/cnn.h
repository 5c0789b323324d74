// A small convolutional network for images.
#pragma once

#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/layers/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Has a 3x3 convolution, ReLU and 2x2 max pooling for each entry of config.channels; then, if
// config.dense is not 0, a dense layer with ReLU; then a dense layer to the classes. Parameters:
// convolutions.<i>.*, dense.<i>.*. Throws ConfigError if a sample is not an image, or is too small
// to be halved that often.
std::unique_ptr<Model> make_cnn(const ModelConfig& config, const DataShape& data);

}  // namespace scavenger
