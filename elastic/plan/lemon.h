// Which of a job's machines is much slower than machines of its type are: a lemon. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace scavenger::elastic {

// Compute of one worker with one share of the batch, on machines of one type.
struct WorkerTime {
  std::uint32_t worker = 0;
  double share = 0.0;    // samples
  double seconds = 0.0;  // of forward and backward, the mean
  double standard_error = 0.0;
};

struct Lemon {
  std::uint32_t worker = 0;
  double slowdown = 1.0;   // its seconds beside the others', for the same share
  double log_error = 0.0;  // standard deviation of ln(slowdown) if it were like the others
};

// Shares differ, and how seconds depend on them is known only as far as workers had several: a part
// of the seconds may be the same for any share, or they grow faster than the share. A machine is a
// lemon only if it is one under every such law that is plausible: it is slower than the median of
// the others by more than three times what machines of one type differ by (`between_vms`, of the
// logarithm, or what three others and more differ by if that is more), and by 15 % at least.
// Returns the slowest one; nothing if there is none, or only one worker.
std::optional<Lemon> find_lemon(std::span<const WorkerTime> times, double between_vms);

}  // namespace scavenger::elastic
