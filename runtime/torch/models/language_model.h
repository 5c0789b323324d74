// A decoder-only language model in the form of GPT-2: Radford et al., "Language Models are
// Unsupervised Multitask Learners", 2019.
#pragma once

#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/layers/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Parameters: embedding.weight (also the weight of the output layer), position.weight, layers.<i>.*
// like torch.nn.TransformerEncoderLayer with norm_first and GELU, norm.*. Throws ConfigError if the
// data is not text.
std::unique_ptr<Model> make_language_model(const ModelConfig& config, const DataShape& data);

}  // namespace scavenger
