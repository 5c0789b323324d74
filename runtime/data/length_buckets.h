// Samples of similar length together, so that batches need little padding. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "runtime/config/data_config.h"

namespace scavenger {

using SampleLength = std::function<std::uint32_t(std::uint32_t index)>;

// Rearranges one epoch's random order, whose first sample has `first_position` in the stream. What
// comes when follows from (seed, epoch), the lengths and the configuration alone: not from K or B.
//
// Buckets begin at positions that are multiples of config.size: where B is one of these, or divides
// one, a batch lies in one bucket. Samples before the epoch's first such position, and after its
// last whole bucket, stay where they are. In between, each config.window of the order is sorted by
// length and cut into buckets; their order is random, and so is that within each of them, so
// that the parts of all workers are alike.
void arrange_in_buckets(std::span<std::uint32_t> order, std::uint64_t first_position,
                        const BucketConfig& config, const SampleLength& length, std::uint64_t seed,
                        std::uint64_t epoch);

}  // namespace scavenger
