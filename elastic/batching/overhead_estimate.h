// What an iteration's fixed work is worth in samples, from how workers' times changed with their
// shares. Pure.
#pragma once

#include <cstddef>
#include <deque>

namespace scavenger::elastic {

// Workers take (overhead + b) / speed seconds, each with a speed of its own and all with about the
// same overhead, for they do the same. Proportional control alone, which knows no overhead, removes
// the share b / (overhead + b) of an imbalance with each adjustment; with it, nearly all.
class OverheadEstimate final {
 public:
  // One worker's share and seconds, before a change of its share and after it.
  void add(double share_before, double seconds_before, double share_after, double seconds_after);
  // In samples: 0 before anything is known.
  double samples() const { return samples_; }

 private:
  struct Change {
    double share_before = 0.0;
    double share_after = 0.0;
    double log_ratio = 0.0;  // of the seconds
  };
  double misfit(double samples) const;

  std::deque<Change> changes_;  // the latest
  double samples_ = 0.0;
};

}  // namespace scavenger::elastic
