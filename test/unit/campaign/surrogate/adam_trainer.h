// A trainer in this process, for tests and studies of thousands of small networks. It minimises
// what scavenger-train minimises with the same settings: mean squared error, Adam over all rows, a
// learning rate that falls along a cosine; but its initial weights are others.
#pragma once

#include "campaign/surrogate/training.h"

namespace scavenger::surrogate {

Perceptron train_with_adam(const TrainingSet& set, const FitSettings& settings, std::size_t index);

}  // namespace scavenger::surrogate
