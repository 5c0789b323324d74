// Which sample comes when: the one global order of a job (design, invariant 1). Pure.
//
// The samples of a job form one endless stream. Position p, counted from the start of the job,
// belongs to epoch p / D of a data set of D samples, and is place p % D of that epoch's random
// order, which follows from (seed, epoch) alone (and, for text, from the lengths of its lines). An
// iteration takes the next B positions, and worker k a contiguous slice of b_k of them. So whatever
// happens to K, B and the b_k, and wherever in an epoch, no sample is skipped or repeated: a job's
// data position is one number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/data/length_buckets.h"

namespace scavenger {

struct SampleDraw {
  std::uint64_t epoch = 0;
  std::uint32_t index = 0;  // in the data set

  bool operator==(const SampleDraw&) const = default;
};

// Keeps the random order of one epoch (4 bytes for each sample). Thread: one thread at a time.
class SampleOrder final {
 public:
  // `size` is D, and positive.
  SampleOrder(std::uint64_t seed, std::uint32_t size);
  // With samples of similar length together (length_buckets.h).
  SampleOrder(std::uint64_t seed, std::uint32_t size, const BucketConfig& buckets,
              SampleLength length);

  // Constant time within the epoch that was asked for last; O(D) where the epoch changes.
  SampleDraw at(std::uint64_t position);

 private:
  std::uint64_t seed_;
  std::uint32_t size_;
  BucketConfig buckets_;
  SampleLength length_;                 // none: no buckets
  std::optional<std::uint64_t> epoch_;  // whose order is in order_
  std::vector<std::uint32_t> order_;
};

// Positions [first, first + size) of the stream.
struct WorkerSlice {
  std::uint64_t first = 0;
  std::uint32_t size = 0;

  bool operator==(const WorkerSlice&) const = default;
};

// The shares b_k of `workers` equal workers: their sum is `batch_size`, and the first
// batch_size % workers have one more than the others. Requires workers > 0.
std::vector<std::uint32_t> split_batch(std::uint32_t batch_size, std::uint32_t workers);

// What worker `rank` does of the iteration that starts at `first_position`, given all shares b_k.
WorkerSlice worker_slice(std::uint64_t first_position, std::span<const std::uint32_t> shares,
                         std::uint32_t rank);

}  // namespace scavenger
