// ResNet-18 in the form for small images: He et al., "Deep Residual Learning for Image
// Recognition", 2016, table 1, with the stem of its section 4.2 (one 3x3 convolution, no max
// pooling).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/torch/model.h"

namespace scavenger {

// 11,173,962 parameters for 3 channels and 10 classes. Tensors are named as in torchvision's
// resnet18 (conv1.weight, layer1.0.bn1.running_mean, layer2.0.downsample.0.weight, fc.bias),
// without its counters num_batches_tracked. Images of any size. Throws ConfigError where a sample
// is none.
std::unique_ptr<Model> make_resnet18(const ModelConfig& config,
                                     const std::vector<std::int64_t>& sample_shape,
                                     std::int64_t classes);

}  // namespace scavenger
