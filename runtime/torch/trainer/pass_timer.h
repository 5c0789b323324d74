// The times of the forward and backward passes of an iteration. On a device they come from events
// in its stream, so that the host does not wait between the two.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <vector>

#include "runtime/base/clock.h"

namespace scavenger {

class PassTimer final {
 public:
  PassTimer(at::Device device, const Clock& clock) : device_(device), clock_(clock) {}

  // Call these for each pass of the iteration, in this order.
  void begin_forward() { mark(); }
  void begin_backward() { mark(); }
  void end_backward() { mark(); }

  struct Seconds {
    double forward = 0.0;
    double backward = 0.0;
  };
  // Returns the sums over all passes; waits until the device has computed them.
  Seconds sum() const;

 private:
  void mark();

  const at::Device device_;
  const Clock& clock_;
  std::vector<double> seconds_;     // on the CPU
  std::vector<c10::Event> events_;  // on a device
};

}  // namespace scavenger
