#include "runtime/torch/c10d/c10d_backend.h"

#ifdef SCAVENGER_HAS_NCCL

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace scavenger {
namespace {

void require(cudaError_t result, const char* call) {
  if (result != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(result));
}

// ncclInProgress is how a non-blocking communicator says that a call was accepted.
void require(ncclResult_t result, const char* call, ncclComm_t communicator = nullptr) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* const more = ncclGetLastError(communicator);
  throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(result) +
                           (more != nullptr && *more != '\0' ? std::string(": ") + more : ""));
}

ncclComm_t nccl_of(NcclCalls::Communicator communicator) {
  return static_cast<ncclComm_t>(communicator);
}

struct Event {
  Event() { require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t event = nullptr;
};

class CudaNccl final : public NcclCalls {
 public:
  explicit CudaNccl(int gpu)
      : gpu_(static_cast<c10::DeviceIndex>(gpu)),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, gpu_)) {}

  NcclId make_id() override {
    ncclUniqueId id;
    require(ncclGetUniqueId(&id), "ncclGetUniqueId");
    NcclId made;
    static_assert(sizeof id.internal == sizeof made.bytes);
    std::copy(std::begin(id.internal), std::end(id.internal), made.bytes.begin());
    return made;
  }

  Communicator init(const NcclId& id, int size, int rank) override {
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    ncclUniqueId given;
    std::copy(id.bytes.begin(), id.bytes.end(), std::begin(given.internal));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t made = nullptr;
    require(ncclCommInitRankConfig(&made, size, given, rank, &config), "ncclCommInitRankConfig");
    if (made == nullptr) throw std::runtime_error("ncclCommInitRankConfig made no communicator");
    return made;
  }

  void shrink(Communicator parent, std::vector<int> left, Communicator& child) override {
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    // The configuration is that of the parent.
    require(ncclCommShrink(nccl_of(parent), left.data(), static_cast<int>(left.size()),
                           reinterpret_cast<ncclComm_t*>(&child), nullptr, NCCL_SHRINK_DEFAULT),
            "ncclCommShrink", nccl_of(parent));
#else
    static_cast<void>(parent), static_cast<void>(left), static_cast<void>(child);
    throw std::runtime_error("this NCCL has no ncclCommShrink");
#endif
  }

  NcclState state(Communicator communicator) override {
    ncclResult_t result = ncclSuccess;
    require(ncclCommGetAsyncError(nccl_of(communicator), &result), "ncclCommGetAsyncError");
    if (result == ncclInProgress) return NcclState::kUnderWay;
    return result == ncclSuccess ? NcclState::kDone : NcclState::kFailed;
  }

  std::string last_error(Communicator communicator) override {
    const char* const text = ncclGetLastError(nccl_of(communicator));
    return std::string("NCCL: ") + (text != nullptr && *text != '\0' ? text : "a peer has failed");
  }

  void all_reduce(Communicator communicator, std::span<float> values) override {
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    begin_after_caller();
    require(ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat, ncclSum,
                          nccl_of(communicator), stream_.stream()),
            "ncclAllReduce", nccl_of(communicator));
  }

  void broadcast(Communicator communicator, std::span<float> values, int source) override {
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    begin_after_caller();
    require(ncclBroadcast(values.data(), values.data(), values.size(), ncclFloat, source,
                          nccl_of(communicator), stream_.stream()),
            "ncclBroadcast", nccl_of(communicator));
  }

  Mark mark() override {
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    auto made = std::make_shared<Event>();
    require(cudaEventRecord(made->event, stream_.stream()), "cudaEventRecord");
    return made;
  }

  bool reached(const Mark& mark) override {
    const cudaError_t result = cudaEventQuery(static_cast<const Event*>(mark.get())->event);
    if (result == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // so that nobody else takes it for an error
      return false;
    }
    require(result, "cudaEventQuery");
    return true;
  }

  void finalise(Communicator communicator) override {
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    require(ncclCommFinalize(nccl_of(communicator)), "ncclCommFinalize", nccl_of(communicator));
  }
  void destroy(Communicator communicator) noexcept override {
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    static_cast<void>(ncclCommDestroy(nccl_of(communicator)));
  }
  void abort(Communicator communicator) noexcept override {
    const c10::cuda::CUDAGuard on_gpu(gpu_);
    static_cast<void>(ncclCommAbort(nccl_of(communicator)));
  }

 private:
  // What the caller's stream writes must be there before it is sent.
  void begin_after_caller() {
    const Event written;
    require(cudaEventRecord(written.event, c10::cuda::getCurrentCUDAStream(gpu_).stream()),
            "cudaEventRecord");
    require(cudaStreamWaitEvent(stream_.stream(), written.event, 0), "cudaStreamWaitEvent");
  }

  const c10::DeviceIndex gpu_;
  const c10::cuda::CUDAStream stream_;
};

}  // namespace

std::shared_ptr<NcclCalls> make_nccl_calls(int gpu) {
  return std::make_shared<CudaNccl>(gpu);
}

}  // namespace scavenger

#else

#include "runtime/base/error.h"

namespace scavenger {

std::shared_ptr<NcclCalls> make_nccl_calls(int) {
  throw InputError({.what = "this build has no NCCL",
                    .where = "sync.strategy",
                    .remedy = "build with a LibTorch for CUDA (docs/building.md)"});
}

}  // namespace scavenger

#endif
