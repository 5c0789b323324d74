// Residual networks: He et al., "Deep Residual Learning for Image Recognition", 2015, table 1.
#pragma once

#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/layers/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// ResNet-18 and -34 (two 3x3 convolutions per block) and ResNet-50 (1x1, 3x3 with the stride, 1x1:
// torchvision's "v1.5"). config.stem selects the paper's stem for ImageNet (7x7, stride 2, max
// pooling), or that of its section 4.2 for small images (3x3). Tensors are named as in torchvision
// (conv1.weight, layer1.0.bn1.running_mean, layer2.0.downsample.0.weight, fc.bias), without its
// counters num_batches_tracked. Throws ConfigError if samples are not images, or are too small.
std::unique_ptr<Model> make_resnet(const ModelConfig& config, const DataShape& data);

}  // namespace scavenger
