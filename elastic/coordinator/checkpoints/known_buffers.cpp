#include "elastic/coordinator/checkpoints/known_buffers.h"

namespace scavenger::elastic {

void KnownBuffers::take(std::uint64_t iteration, std::span<const float> values) {
  iteration_ = iteration;
  worker_ = kNobody;
  values_.assign(values.begin(), values.end());
}

void KnownBuffers::offer(std::uint32_t worker, std::uint64_t iteration,
                         std::span<const float> values) {
  if (iteration < iteration_ || (iteration == iteration_ && worker > worker_)) return;
  take(iteration, values);
  worker_ = worker;
}

}  // namespace scavenger::elastic
