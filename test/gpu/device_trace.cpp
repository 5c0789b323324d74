#include "test/gpu/device_trace.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <set>
#include <utility>

namespace scavenger {

namespace profiler = torch::autograd::profiler;

DeviceTrace::DeviceTrace(std::string file) : file_(std::move(file)) {
  using namespace torch::profiler::impl;
  const ProfilerConfig config(ProfilerState::KINETO);
  const std::set<ActivityType> both = {ActivityType::CPU, ActivityType::CUDA};
  profiler::prepareProfiler(config, both);
  profiler::enableProfiler(config, both);
}

DeviceTrace::~DeviceTrace() {
  profiler::disableProfiler()->save(file_);
}

}  // namespace scavenger
