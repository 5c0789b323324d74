#include "runtime/torch/device/device_graph.h"

#ifdef SCAVENGER_HAS_CUDA

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <exception>
#include <vector>

namespace scavenger {
namespace {

class CudaGraph final : public DeviceGraph {
 public:
  CudaGraph(at::Device device, c10::MempoolId_t pool)
      : device_(device),
        pool_(pool),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {}
  ~CudaGraph() override {
    for (const cudaEvent_t event : marks_) cudaEventDestroy(event);
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void capture(const std::function<void()>& work) override {
    const c10::cuda::CUDAGuard on_device(device_);
    C10_CUDA_CHECK(cudaDeviceSynchronize());
    c10::cuda::CUDACachingAllocator::emptyCache();  // the graph's memory is another one
    const c10::cuda::CUDAStreamGuard aside(stream_);
    // The thread that loads data goes on to allocate and to copy meanwhile.
    graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    try {
      work();
      graph_.capture_end();
    } catch (...) {
      end_failed_capture();
      throw;
    }
  }

  // An event of this kind is part of the sequence, and each replay records it.
  std::size_t mark() override {
    cudaEvent_t event = nullptr;
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    marks_.push_back(event);
    C10_CUDA_CHECK(cudaEventRecordWithFlags(event, stream_.stream(), cudaEventRecordExternal));
    return marks_.size() - 1;
  }

  void replay() override {
    const c10::cuda::CUDAGuard on_device(device_);
    graph_.replay();
  }

  void wait_for(std::size_t mark, const c10::Stream& stream) override {
    const c10::cuda::CUDAGuard on_device(device_);
    C10_CUDA_CHECK(cudaStreamWaitEvent(c10::cuda::CUDAStream(stream).stream(), marks_.at(mark), 0));
  }

 private:
  // A stream in capture takes no other work: the capture must end, whatever it has become.
  void end_failed_capture() noexcept {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
    }
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream_.stream(), &status) == cudaSuccess &&
        status != cudaStreamCaptureStatusNone) {
      cudaGraph_t nothing = nullptr;
      if (cudaStreamEndCapture(stream_.stream(), &nothing) == cudaSuccess && nothing != nullptr)
        cudaGraphDestroy(nothing);
    }
    cudaGetLastError();  // forgets the error
  }

  const at::Device device_;
  const c10::MempoolId_t pool_;
  const c10::cuda::CUDAStream stream_;
  std::vector<cudaEvent_t> marks_;
  at::cuda::CUDAGraph graph_;
};

}  // namespace

MakeDeviceGraph device_graphs(at::Device device) {
  if (!device.is_cuda()) return {};
  return [device, pool = at::cuda::graph_pool_handle()] {
    return std::make_unique<CudaGraph>(device, pool);
  };
}

}  // namespace scavenger

#else

namespace scavenger {

MakeDeviceGraph device_graphs(at::Device) {
  return {};
}

}  // namespace scavenger

#endif
