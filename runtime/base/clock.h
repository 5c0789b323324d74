// The port for time: the real clock in a process, a virtual one in a simulation.
#pragma once

#include <string>

namespace scavenger {

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic seconds since an arbitrary origin; use differences only.
  virtual double now_seconds() const = 0;
};

// The machine's monotonic clock. Thread-safe.
class SteadyClock final : public Clock {
 public:
  double now_seconds() const override;
};

// Returns the date and time of day in UTC, for people and file names: "2026-11-21T08:35:08Z".
std::string utc_timestamp();

}  // namespace scavenger
