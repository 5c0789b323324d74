// A small convolutional network for images.
#pragma once

#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// For each entry of config.channels a 3x3 convolution, ReLU and 2x2 max pooling; then, where
// config.dense is not 0, a dense layer with ReLU; then one to the classes. Parameters:
// convolutions.<i>.*, dense.<i>.*. Throws ConfigError where a sample is no image, or too small to
// be halved that often.
std::unique_ptr<Model> make_cnn(const ModelConfig& config, const DataShape& data);

}  // namespace scavenger
