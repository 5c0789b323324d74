// Many iterations as one event, where each by itself would make the log grow without a bound
// (docs/events.md): part of event.h, which has the conventions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "elastic/events/half_batches.h"
#include "noise/noise_estimator.h"

namespace scavenger::elastic::fact {

// What is kept of a measured series; five significant digits.
struct SeriesDigest {
  std::uint64_t count = 0;              // of values that are finite
  std::vector<double> moments;          // mean, standard deviation, minimum, maximum; none: empty
  std::vector<std::int64_t> quantiles;  // as QuantileSketch::encode() writes it; may be left out

  bool operator==(const SeriesDigest&) const = default;
};

// One worker's part: since it was in a block last, or since the membership began.
struct WorkerDigest {
  std::uint32_t rank = 0;
  SeriesDigest data_wait;
  SeriesDigest forward;
  SeriesDigest backward;
  SeriesDigest compute;
  SeriesDigest sync_wait;
  SeriesDigest straggler_wait;

  bool operator==(const WorkerDigest&) const = default;
};

// One iteration that stands for its neighbours: what each worker took, without synchronisation.
struct PaceSample {
  std::uint64_t iteration = 0;
  std::vector<double> seconds;  // by rank

  bool operator==(const PaceSample&) const = default;
};

// A number of which no digit may be lost.
struct Exact {
  double value = 0.0;

  bool operator==(const Exact&) const = default;
};

// The numbers of a noise estimator's state in a block: those of the estimator, and the phase of the
// learning rate that they belong to.
inline constexpr std::size_t kNoiseStateNumbers = noise::NoiseEstimator::kStateNumbers + 1;

// Iterations first, ..., first + count - 1, of one membership. Digests of iterations leave out
// those that PhaseNumbers discards.
struct IterationBlock {
  static constexpr std::string_view kName = "iteration_block";

  std::uint32_t membership_epoch = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t discarded = 0;  // the first of them, which are in no digest of seconds
  double learning_rate = 0.0;   // of the last of them
  SeriesDigest loss;
  SeriesDigest seconds;
  SeriesDigest data_wait;  // this one and those below: means over the workers
  SeriesDigest forward;
  SeriesDigest backward;
  SeriesDigest compute;
  SeriesDigest sync_wait;
  SeriesDigest transfer;
  SeriesDigest straggler_skew;
  std::vector<WorkerDigest> workers;  // in turn
  std::vector<PaceSample> pace;
  // Of the noise estimators of the job and of the membership, after the last iteration.
  std::vector<Exact> job_noise;
  std::vector<Exact> membership_noise;
  std::vector<HalfBatches> half_batches;  // some of them
  double half_batch_seconds = 0.0;        // of all

  bool operator==(const IterationBlock&) const = default;
};

}  // namespace scavenger::elastic::fact
