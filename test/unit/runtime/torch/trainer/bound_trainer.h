// A trainer with flat vectors of its own.
#pragma once

#include <memory>
#include <utility>

#include "runtime/training/cache_line_vector.h"
#include "runtime/training/trainer.h"

namespace scavenger {

using FlatVector = CacheLineVector<float>;

// Starts at the trainer's initial weights. The gradients start as rubbish, which nothing may depend
// on.
struct BoundTrainer {
  explicit BoundTrainer(std::unique_ptr<Trainer> bound)
      : trainer(std::move(bound)),
        weights(trainer->parameters().flat_size(), 0.0f),
        gradients(trainer->parameters().flat_size(), 7.0f) {
    trainer->use_weights(weights);
    trainer->use_gradients(gradients);
    trainer->write_initial_weights();
  }

  std::unique_ptr<Trainer> trainer;
  FlatVector weights;
  FlatVector gradients;
};

}  // namespace scavenger
