// How much may be written to a log, so that it grows by no more than kBytesPerHour. Pure.
#pragma once

namespace scavenger::elastic {

// A bucket of bytes that fills with the job's time: full it holds kBurstBytes, and in an hour
// as many flow in as together with these make kBytesPerHour. What must be written may overdraw it;
// then what need not be waits.
class LogBudget final {
 public:
  static constexpr double kBytesPerHour = 20e6;
  static constexpr double kBurstBytes = 2e6;
  static constexpr double kBytesPerSecond = (kBytesPerHour - kBurstBytes) / 3600.0;
  // Kept for facts and warnings: nothing that can be said in fewer bytes takes these.
  static constexpr double kReservedBytes = 0.25 * kBurstBytes;

  // Of a log that had `bytes` when the job was `time` seconds old.
  explicit LogBudget(double time = 0.0, double bytes = 0.0);

  // Seconds of the job's life, which do not go back. Below 0 if it is overdrawn.
  double available(double time) const;
  void spend(double bytes, double time);

 private:
  double time_;
  double available_;
};

}  // namespace scavenger::elastic
