// The encoder-decoder Transformer: Vaswani et al., "Attention Is All You Need", 2017.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/layers/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Parameters: embedding.weight, or source_embedding.weight and target_embedding.weight, or these
// and output.weight, depending on config.transformer.shared_embeddings; then as in
// torch.nn.Transformer, with the prefix "transformer.". Positions are sinusoids; embeddings are
// scaled by sqrt(width). transformer_base is the base model of the paper's table 3. Throws
// ConfigError if the data is not pairs of token sequences, or if two vocabularies would share one
// embedding.
std::unique_ptr<Model> make_transformer(const ModelConfig& config, const DataShape& data);

}  // namespace scavenger
