// Who gets how much of a batch: the shares with which unequal workers finish together. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace scavenger::elastic {

// What is known of the workers' speeds, and what a share may be. By a worker's index, which it
// keeps while ranks change, so the same rule holds for every K and B to come.
struct ShareRule {
  // Samples a second, an iteration's fixed work counted as `overhead_samples` more: a worker takes
  // (overhead_samples + b_k) / speed seconds. One that is not here is taken to be as fast as the
  // mean of those that are.
  std::map<std::uint32_t, double> speeds;
  double overhead_samples = 0.0;
  // Bounds of b_k. If they leave no room for B, B counts more.
  std::uint32_t smallest_share = 1;
  std::vector<std::uint32_t> largest_shares;  // of worker i, at i mod size; 0, or empty: none
  std::map<std::uint32_t, std::uint32_t> learned_bounds;  // above which it got slower
  // Exactly so many, whatever the rest says, while each of the others has a sample.
  std::map<std::uint32_t, std::uint32_t> pinned = {};

  std::uint32_t largest_share_of(std::uint32_t worker) const;  // UINT32_MAX: no bound
  // The mean of the others if it is not known, 1 if none is.
  double speed_of(std::uint32_t worker) const;
  double seconds_of(std::uint32_t worker, double share) const {
    return (overhead_samples + share) / speed_of(worker);
  }
  bool operator==(const ShareRule&) const = default;
};

// The b_k of these workers, in their order: they sum to `batch_size`, none is 0, and of all such
// shares within the bounds they make the longest of the workers' times least. If workers are
// alike the first ones get what is left over. Requires 0 < workers <= batch_size.
std::vector<std::uint32_t> shares_of(const ShareRule& rule, std::uint32_t batch_size,
                                     std::span<const std::uint32_t> workers);

}  // namespace scavenger::elastic
