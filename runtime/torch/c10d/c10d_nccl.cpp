#include "runtime/torch/c10d/c10d_backend.h"

#ifdef SCAVENGER_HAS_NCCL

#include <c10/cuda/CUDAGuard.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace scavenger {

c10::intrusive_ptr<c10d::Backend> connect_nccl(const C10dPlace& place, const C10dOptions& options) {
  // The controller handles a lost peer; c10d's watchdog would end the process.
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 1);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 1);
  const c10::cuda::CUDAGuard on_gpu(static_cast<c10::DeviceIndex>(options.gpu));
  auto settings = c10d::ProcessGroupNCCL::Options::create();
  settings->timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(options.operation_seconds * 1000.0));
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(place.store, place.rank, place.size,
                                                     std::move(settings));
}

}  // namespace scavenger

#else

#include "runtime/base/error.h"

namespace scavenger {

c10::intrusive_ptr<c10d::Backend> connect_nccl(const C10dPlace&, const C10dOptions&) {
  throw InputError({.what = "this build has no NCCL",
                    .where = "sync.strategy",
                    .remedy = "build with a LibTorch for CUDA (docs/building.md)"});
}

}  // namespace scavenger

#endif
