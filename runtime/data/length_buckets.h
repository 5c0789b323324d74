// Groups samples of similar length, so that batches need little padding. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "runtime/config/data_config.h"

namespace scavenger {

using SampleLength = std::function<std::uint32_t(std::uint32_t index)>;

// Rearranges the random order of one epoch, whose first sample is at `first_position` of the
// stream. The result follows from (seed, epoch), the lengths and the configuration alone; it does
// not depend on K or B.
//
// Buckets begin at positions that are multiples of config.size. If B divides config.size, each
// batch therefore lies in one bucket; if B is a multiple of it, each batch consists of whole
// buckets. Samples before the epoch's first such position, and after its last whole bucket, stay
// where they are. In between, each window of config.window samples is sorted by length and cut into
// buckets. The order of the buckets is random, and so is the order within each bucket, so that the
// slices of all workers have similar lengths.
void arrange_in_buckets(std::span<std::uint32_t> order, std::uint64_t first_position,
                        const BucketConfig& config, const SampleLength& length, std::uint64_t seed,
                        std::uint64_t epoch);

}  // namespace scavenger
