// The port for making K workers take one step together: the worker loop knows only this. The
// parameter server's clients implement it, over TCP and in shared memory; so can an all-reduce
// engine.
#pragma once

#include <cstdint>
#include <span>

namespace scavenger {

// What one synchronised iteration cost this worker, and the squared norms that it yielded.
struct SyncResult {
  double wait_seconds = 0.0;  // from the end of backward to new weights: exposed synchronisation
  double local_gradient_sqr_norm = 0.0;   // |g_k|^2 of this worker's mean gradient
  double global_gradient_sqr_norm = 0.0;  // |sum_k (b_k / B) g_k|^2
};

// Thread: all calls from the worker's compute thread, in the order begin, ready..., finish for each
// iteration. Errors: any call may throw ConnectionError where a peer is lost; the iteration has
// then not been applied for sure, and the gradients are still there.
class Synchroniser {
 public:
  virtual ~Synchroniser() = default;

  // The flat vectors, owned here so that they can live in memory that is shared with others.
  virtual std::span<float> weights() = 0;
  virtual std::span<float> gradients() = 0;

  virtual void begin(std::uint64_t iteration) = 0;
  // Gradients at [first, last) are final: they may be sent, and the weights there overwritten.
  virtual void gradient_ready(std::uint64_t first, std::uint64_t last) = 0;
  // Blocks until weights() holds the weights after this iteration.
  virtual SyncResult finish() = 0;
};

}  // namespace scavenger
