// How fast a job trains just now: averages over the last few seconds.
#pragma once

#include <cstdint>

#include "elastic/events/event.h"

namespace scavenger::elastic {

// Exponentially fading averages with a time constant of kSeconds of the job's time; they begin anew
// with each membership, and after a pause. Pure; one thread.
class RecentPace final {
 public:
  static constexpr double kSeconds = 5.0;

  void apply(const LoggedEvent& logged);

  bool known() const { return iterations_ > 0.0; }
  // Over iterations only, without evaluations and pauses.
  double samples_per_second() const;
  double loss() const { return average(loss_); }
  double compute_seconds() const { return average(compute_); }      // mean over the workers
  double sync_wait_seconds() const { return average(sync_wait_); }  // mean over the workers

 private:
  void fade(double seconds);
  void add(const fact::Iterations& iterations);
  void add(const fact::IterationBlock& block);
  double average(double sum) const { return known() ? sum / iterations_ : 0.0; }

  std::uint32_t batch_size_ = 0;
  double time_ = 0.0;
  // Faded sums.
  double iterations_ = 0.0;
  double seconds_ = 0.0;
  double loss_ = 0.0;
  double compute_ = 0.0;
  double sync_wait_ = 0.0;
};

}  // namespace scavenger::elastic
