#include "runtime/torch/trainer/pass_timer.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

#include "runtime/base/check.h"

namespace scavenger {

void PassTimer::mark() {
  if (device_.is_cpu()) {
    seconds_.push_back(clock_.now_seconds());
    return;
  }
  c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);  // one with a time
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  events_.push_back(std::move(event));
}

PassTimer::Seconds PassTimer::sum() const {
  constexpr double kMilliseconds = 1e-3;
  if (!events_.empty()) events_.back().synchronize();
  const auto between = [this](std::size_t i) {
    return events_.empty() ? seconds_[i + 1] - seconds_[i]
                           : kMilliseconds * events_[i].elapsedTime(events_[i + 1]);
  };
  const std::size_t marks = events_.empty() ? seconds_.size() : events_.size();
  SCAVENGER_CHECK(marks % 3 == 0);
  Seconds sum;
  for (std::size_t i = 0; i < marks; i += 3) {
    sum.forward += between(i);
    sum.backward += between(i + 1);
  }
  return sum;
}

}  // namespace scavenger
