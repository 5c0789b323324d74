// With which shares of the batch an auditioned worker is measured. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/vms/vm_race_numbers.h"

namespace scavenger::elastic {

inline constexpr std::uint32_t kSharesOfAudition = 3;

struct MeasuredShare {
  std::uint32_t share = 0;  // samples of a batch
  ShareTime time;
};

// Returns the shares with which the worker was measured since `since`, in their order. They are
// those that the controller gave: others than were wished if there was no room for these.
std::vector<MeasuredShare> measured_shares(const RunNumbers& numbers, std::uint32_t worker,
                                           double since);

// Returns the share to measure next; 0 if enough is known. It is at most the share with which the
// worker would take kMostSlowdown times as long as the slowest of the `others`. That is found on a
// line through what was measured, or through the origin, which is the safer side.
// Requires a measured share.
std::uint32_t next_audition_share(std::span<const MeasuredShare> known, std::uint32_t others,
                                  std::uint32_t batch_size);

}  // namespace scavenger::elastic
