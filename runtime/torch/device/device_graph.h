// A sequence of kernels that a device has recorded, and computes again with one call of the host.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace scavenger {

// Thread: one at a time; mark() also by the thread on which autograd runs a backward pass.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;

  // Runs `work` on a stream of its own, which records in place of computing. All tensors that it
  // reads must exist before and stay where they are; those that it makes keep their memory, and
  // replay() writes them. Throws what `work` throws, and c10::Error if something in it cannot be
  // recorded; nothing is recorded then.
  virtual void capture(const std::function<void()>& work) = 0;
  // Within `work`: names this point of the sequence. Counts from 0.
  virtual std::size_t mark() = 0;

  // Begins to compute, on the current stream.
  virtual void replay() = 0;
  // Lets `stream` wait until the last replay has passed this point. The host does not wait.
  virtual void wait_for(std::size_t mark, const c10::Stream& stream) = 0;
};

using MakeDeviceGraph = std::function<std::unique_ptr<DeviceGraph>()>;

// Returns nothing for the CPU, and in a build without CUDA. The graphs of one maker share their
// memory, so that only one of them may be replayed at a time.
MakeDeviceGraph device_graphs(at::Device device);

}  // namespace scavenger
