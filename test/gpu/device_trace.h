// Writes what the host and the device did, for chrome://tracing and ui.perfetto.dev.
#pragma once

#include <string>

namespace scavenger {

// Of this thread and of those that autograd runs for it, while this lives. The file is written at
// its end. One at a time.
class DeviceTrace final {
 public:
  explicit DeviceTrace(std::string file);
  ~DeviceTrace();
  DeviceTrace(const DeviceTrace&) = delete;
  DeviceTrace& operator=(const DeviceTrace&) = delete;

 private:
  const std::string file_;
};

}  // namespace scavenger
