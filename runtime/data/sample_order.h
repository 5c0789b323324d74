// The global order in which a job consumes its samples. Pure.
//
// The samples of a job form one endless stream. Position p, counted from the start of the job,
// belongs to epoch p / D of a data set of D samples, and is place p % D of that epoch's random
// order. This order follows from (seed, epoch) alone (and, for text, from the lengths of its
// lines). An iteration takes the next B positions, and worker k a contiguous slice of b_k of them.
// The data position of a job is therefore one number: however K, B and the b_k change within an
// epoch, no sample is skipped or repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/data/length_buckets.h"

namespace scavenger {

struct SampleDraw {
  std::uint64_t epoch = 0;
  std::uint32_t index = 0;  // index in the data set

  bool operator==(const SampleDraw&) const = default;
};

// Keeps the random order of one epoch (4 bytes per sample). Thread: one thread at a time.
class SampleOrder final {
 public:
  // `size` is D. Requires size > 0.
  SampleOrder(std::uint64_t seed, std::uint32_t size);
  // Groups samples of similar length (length_buckets.h).
  SampleOrder(std::uint64_t seed, std::uint32_t size, const BucketConfig& buckets,
              SampleLength length);

  // Takes constant time within the epoch of the previous call, and O(D) if the epoch changes.
  SampleDraw at(std::uint64_t position);

 private:
  std::uint64_t seed_;
  std::uint32_t size_;
  BucketConfig buckets_;
  SampleLength length_;                 // none: no buckets
  std::optional<std::uint64_t> epoch_;  // the epoch of order_
  std::vector<std::uint32_t> order_;
};

// Positions [first, first + size) of the stream.
struct WorkerSlice {
  std::uint64_t first = 0;
  std::uint32_t size = 0;

  bool operator==(const WorkerSlice&) const = default;
};

// Returns the shares b_k of `workers` equal workers. Their sum is `batch_size`; the first
// batch_size % workers have one sample more than the others. Requires workers > 0.
std::vector<std::uint32_t> split_batch(std::uint32_t batch_size, std::uint32_t workers);

// Returns the slice of worker `rank` in the iteration that starts at `first_position`, given all
// shares b_k.
WorkerSlice worker_slice(std::uint64_t first_position, std::span<const std::uint32_t> shares,
                         std::uint32_t rank);

}  // namespace scavenger
