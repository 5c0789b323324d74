// A trainer with flat vectors of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "runtime/training/trainer.h"

namespace scavenger {

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};
  CacheLineAllocator() = default;
  template <typename U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kAlignment); }
  bool operator==(const CacheLineAllocator&) const = default;
};

using FlatVector = std::vector<float, CacheLineAllocator<float>>;

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
