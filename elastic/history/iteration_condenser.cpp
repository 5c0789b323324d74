#include "elastic/history/iteration_condenser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "elastic/history/iteration_timers.h"
#include "elastic/history/series_digest.h"
#include "noise/noise_estimator.h"
#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

// Bytes of `iterations` events, somewhat more than they take (docs/events.md, "What it costs").
constexpr double kBytesPerEvent = 300.0;
constexpr double kBytesPerIteration = 40.0;
constexpr double kBytesPerWorker = 60.0;  // and iteration
constexpr double kBytesPerHalfBatchNumber = 12.0;

// Of the first block of a membership.
constexpr double kBlockBytes = 3500.0;
constexpr double kBlockBytesPerWorker = 900.0;

// Single iterations leave this for memberships to come.
constexpr double kKeptBytes = 0.5 * LogBudget::kBurstBytes;

// What is decided and planned by is kept as exactly as it is measured (QuantileSketch), the parts
// of it to 2 %, and those of each worker to 4 %.
constexpr int kExact = 1, kCoarse = 4, kCoarsest = 8;

// Numbers of seconds for which a block has room, over all workers.
constexpr std::size_t kPaceNumbers = 256;
constexpr std::size_t kMostPaceSamples = 16;
constexpr std::size_t kHalfBatchNumbers = 96;

std::size_t pace_samples(std::uint32_t workers) {
  return std::clamp<std::size_t>(kPaceNumbers / std::max(1U, workers), 1, kMostPaceSamples);
}

// Whose turn it is in a block.
std::uint32_t workers_in_turn(std::size_t workers) {
  return static_cast<std::uint32_t>(std::min(workers, std::max<std::size_t>(4, workers / 16)));
}

double bytes_of(const fact::Iterations& series, std::uint64_t count) {
  double bytes = kBytesPerEvent;
  bytes += static_cast<double>(count) *
           (kBytesPerIteration + kBytesPerWorker * static_cast<double>(series.workers.size()));
  for (const fact::HalfBatches& halves : series.half_batches)
    bytes += kBytesPerEvent +
             kBytesPerHalfBatchNumber * 3.0 * static_cast<double>(halves.whole_sqr_norm.size());
  return bytes;
}

std::vector<double> split(std::vector<double>& values, std::size_t count) {
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<double> front(values.begin(), end);
  values.erase(values.begin(), end);
  return front;
}

// Its first `count` iterations, which it has no more then.
fact::Iterations split(fact::Iterations& series, std::uint64_t count) {
  fact::Iterations front = series;
  front.count = static_cast<std::uint32_t>(count);
  front.loss = split(series.loss, count);
  front.seconds = split(series.seconds, count);
  front.global_sqr_norm = split(series.global_sqr_norm, count);
  for (std::size_t k = 0; k < series.workers.size(); ++k)
    for (const auto list : {&fact::WorkerSeries::data_wait, &fact::WorkerSeries::forward,
                            &fact::WorkerSeries::backward, &fact::WorkerSeries::sync_wait,
                            &fact::WorkerSeries::local_sqr_norm})
      front.workers[k].*list = split(series.workers[k].*list, count);
  series.first += count;
  series.count -= front.count;
  const auto is_later = [&](const fact::HalfBatches& halves) {
    return halves.iteration >= series.first;
  };
  std::erase_if(front.half_batches, is_later);
  std::erase_if(series.half_batches, [&](const auto& halves) { return !is_later(halves); });
  return front;
}

// What iteration i took of each worker without synchronisation; nothing where not all are known.
std::optional<fact::PaceSample> pace_of(const fact::Iterations& series, std::size_t i,
                                        std::size_t workers) {
  if (series.workers.size() != workers) return std::nullopt;
  fact::PaceSample sample{series.first + i, {}};
  for (const fact::WorkerSeries& worker : series.workers)
    sample.seconds.push_back(worker.data_wait[i] + worker.forward[i] + worker.backward[i]);
  return sample;
}

}  // namespace

IterationCondenser::Parts::Parts(const PhaseNumbers& phase, const NoiseMeter& job)
    : membership(phase.membership),
      discarded(phase.discarded_iterations),
      job_noise(job),
      membership_noise(phase.noise),
      workers(phase.membership.workers),
      block_bytes(kBlockBytes + kBlockBytesPerWorker * workers_in_turn(phase.membership.workers)),
      pace(pace_samples(phase.membership.workers)) {}

std::vector<RunEvent> IterationCondenser::add(fact::Iterations series, const RunNumbers& numbers,
                                              double time) {
  SCAVENGER_CHECK(!numbers.phases.empty());
  std::vector<RunEvent> events;
  if (!parts_) {
    const std::uint64_t singles = single_iterations(series, numbers, time);
    if (singles == series.count) {
      events.emplace_back(std::move(series));
      return events;
    }
    const PhaseNumbers& phase = numbers.phases.back();
    SCAVENGER_CHECK(phase.membership.membership_epoch == series.membership_epoch);
    parts_.emplace(phase, numbers.noise.meter());
    if (singles > 0) {
      fact::Iterations front = split(series, singles);
      parts_->discarded =
          std::min<std::uint64_t>(PhaseNumbers::kDiscardedIterations, parts_->discarded + singles);
      add_noise(front);
      events.emplace_back(std::move(front));
    }
  }
  // A phase of the learning rate is reported as it ended.
  const double rate = parts_->block.learning_rate, factor = noise::NoiseOptions{}.phase_rate_factor;
  const bool changes = parts_->block.count > 0 && std::max(rate, series.learning_rate) >
                                                      factor * std::min(rate, series.learning_rate);
  if (changes) std::ranges::move(take(time), std::back_inserter(events));
  condense(series, time);
  if (is_due(time)) std::ranges::move(end_block(Detail::kTurn), std::back_inserter(events));
  return events;
}

// How many of them, from the first on, there is room for.
std::uint64_t IterationCondenser::single_iterations(const fact::Iterations& series,
                                                    const RunNumbers& numbers, double time) const {
  const double room = budget_.available(time);
  if (room - bytes_of(series, series.count) >= kKeptBytes) return series.count;
  const std::uint64_t before = series.first - numbers.phases.back().membership.first_iteration;
  if (before >= kSingleIterations) return 0;
  const std::uint64_t early = std::min<std::uint64_t>(series.count, kSingleIterations - before);
  return room - bytes_of(series, early) >= LogBudget::kReservedBytes ? early : 0;
}

void IterationCondenser::add_noise(const fact::Iterations& series) {
  parts_->job_noise.add(parts_->membership, series);
  parts_->membership_noise.add(parts_->membership, series);
}

void IterationCondenser::condense(const fact::Iterations& series, double time) {
  Parts& parts = *parts_;
  fact::IterationBlock& block = parts.block;
  if (block.count == 0) {
    block.membership_epoch = series.membership_epoch;
    block.first = series.first;
    parts.begin_time = time;
  }
  block.count += series.count;
  block.learning_rate = series.learning_rate;
  for (std::size_t i = 0; i < series.count; ++i) {
    if (std::isfinite(series.seconds[i])) parts.loss.add(series.loss[i]);
    if (parts.discarded < PhaseNumbers::kDiscardedIterations) {
      ++parts.discarded;
      ++block.discarded;
    } else if (!std::isnan(series.seconds[i])) {  // else nobody lived to tell
      add_iteration(series, i, parts.timers, parts.workers);
    }
    if (!parts.pace.wants_next()) continue;
    if (auto sample = pace_of(series, i, parts.workers.size())) parts.pace.keep(std::move(*sample));
  }
  add_noise(series);
  for (const fact::HalfBatches& halves : series.half_batches) {
    if (block.half_batch_seconds == 0.0)
      parts.half_batches = Thinned<fact::HalfBatches>(std::clamp<std::size_t>(
          kHalfBatchNumbers / halves.whole_sqr_norm.size(), 1, kMostPaceSamples));
    block.half_batch_seconds += halves.seconds;
    if (parts.half_batches.wants_next()) parts.half_batches.keep(halves);
  }
}

// Often, but no more than the bytes that flow in allow for.
bool IterationCondenser::is_due(double time) const {
  const double bytes = parts_->block_bytes;
  const double seconds =
      std::max(kBlockSeconds, bytes / (kShareOfBudget * LogBudget::kBytesPerSecond));
  return time - parts_->begin_time >= seconds && budget_.available(time) >= bytes;
}

std::vector<RunEvent> IterationCondenser::take(double time) {
  if (!parts_ || parts_->block.count == 0) return {};
  if (budget_.available(time) - parts_->block_bytes < LogBudget::kReservedBytes) return {};
  return end_block(Detail::kTurn);
}

std::vector<RunEvent> IterationCondenser::close(double time) {
  if (!parts_ || parts_->block.count == 0) return {};
  const double room = budget_.available(time) - LogBudget::kReservedBytes;
  const double all =
      parts_->block_bytes + kBlockBytesPerWorker * static_cast<double>(parts_->workers.size());
  if (room >= all) return end_block(Detail::kAll);
  return end_block(room >= parts_->block_bytes ? Detail::kTurn : Detail::kTotals);
}

std::vector<RunEvent> IterationCondenser::end_block(Detail detail) {
  Parts& parts = *parts_;
  fact::IterationBlock& block = parts.block;
  const IterationTimers& timers = parts.timers;
  block.loss = digest_of(parts.loss.moments(), parts.loss.minimum(), parts.loss.maximum());
  block.seconds = digest_of(timers.iteration_seconds, kExact);
  block.data_wait = digest_of(timers.data_wait_seconds, kCoarse);
  block.forward = digest_of(timers.forward_seconds, kCoarse);
  block.backward = digest_of(timers.backward_seconds, kCoarse);
  block.compute = digest_of(timers.compute_seconds, kCoarse);
  block.sync_wait = digest_of(timers.sync_wait_seconds, kCoarse);
  block.transfer = digest_of(timers.transfer_seconds, kCoarse);
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  block.straggler_skew = digest_of(timers.straggler_skew, unknown, unknown);
  block.job_noise = parts.job_noise.state();
  block.membership_noise = parts.membership_noise.state();
  if (detail != Detail::kTotals) {
    write_workers(detail);
    block.pace = parts.pace.take();
    block.half_batches = parts.half_batches.take();
  }
  parts.timers = {};
  parts.loss = {};
  parts.pace = Thinned<fact::PaceSample>(parts.pace.most());
  parts.half_batches = Thinned<fact::HalfBatches>(1);
  std::vector<RunEvent> events;
  events.emplace_back(std::exchange(block, {}));
  if (detail == Detail::kTurn)
    parts.block_bytes = static_cast<double>(to_json_line({0.0, events.back()}).size());
  return events;
}

void IterationCondenser::write_workers(Detail detail) {
  Parts& parts = *parts_;
  const std::size_t count =
      detail == Detail::kAll ? parts.workers.size() : workers_in_turn(parts.workers.size());
  for (std::size_t i = 0; i < count; ++i) {
    WorkerNumbers& worker = parts.workers[parts.next_rank];
    parts.block.workers.push_back({parts.next_rank, digest_of(worker.data_wait_seconds, kCoarsest),
                                   digest_of(worker.forward_seconds, kCoarsest),
                                   digest_of(worker.backward_seconds, kCoarsest),
                                   digest_of(worker.compute_seconds, kCoarsest),
                                   digest_of(worker.sync_wait_seconds, kCoarsest),
                                   digest_of(worker.straggler_wait_seconds, kCoarsest)});
    worker = {};
    parts.next_rank = (parts.next_rank + 1) % static_cast<std::uint32_t>(parts.workers.size());
  }
}

}  // namespace scavenger::elastic
