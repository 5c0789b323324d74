#include "elastic/history/iteration_timers.h"

#include <algorithm>
#include <limits>

#include "elastic/history/series_digest.h"

namespace scavenger::elastic {

void add_iteration(const fact::Iterations& iterations, std::size_t i, IterationTimers& timers,
                   std::vector<WorkerNumbers>& workers) {
  timers.iteration_seconds.add(iterations.seconds[i]);
  if (iterations.workers.empty()) return;
  double data_wait = 0.0, forward = 0.0, backward = 0.0, sync_wait = 0.0;
  double most_compute = 0.0, transfer = std::numeric_limits<double>::infinity();
  for (const fact::WorkerSeries& worker : iterations.workers) {
    data_wait += worker.data_wait[i];
    forward += worker.forward[i];
    backward += worker.backward[i];
    sync_wait += worker.sync_wait[i];
    most_compute = std::max(most_compute, worker.forward[i] + worker.backward[i]);
    transfer = std::min(transfer, worker.sync_wait[i]);
  }
  const auto count = static_cast<double>(iterations.workers.size());
  const double compute = (forward + backward) / count;
  timers.data_wait_seconds.add(data_wait / count);
  timers.forward_seconds.add(forward / count);
  timers.backward_seconds.add(backward / count);
  timers.compute_seconds.add(compute);
  timers.sync_wait_seconds.add(sync_wait / count);
  timers.transfer_seconds.add(transfer);
  if (compute > 0.0) timers.straggler_skew.add(most_compute / compute);
  for (const fact::WorkerSeries& series : iterations.workers) {
    WorkerNumbers& worker = workers[series.rank];
    worker.data_wait_seconds.add(series.data_wait[i]);
    worker.forward_seconds.add(series.forward[i]);
    worker.backward_seconds.add(series.backward[i]);
    worker.compute_seconds.add(series.forward[i] + series.backward[i]);
    worker.sync_wait_seconds.add(series.sync_wait[i]);
    worker.straggler_wait_seconds.add(series.sync_wait[i] - transfer);
  }
}

void add_block(const fact::IterationBlock& block, IterationTimers& timers,
               std::vector<WorkerNumbers>& workers) {
  IterationTimers added;
  added.iteration_seconds = statistics_of(block.seconds);
  added.data_wait_seconds = statistics_of(block.data_wait);
  added.forward_seconds = statistics_of(block.forward);
  added.backward_seconds = statistics_of(block.backward);
  added.compute_seconds = statistics_of(block.compute);
  added.sync_wait_seconds = statistics_of(block.sync_wait);
  added.transfer_seconds = statistics_of(block.transfer);
  added.straggler_skew = moments_of(block.straggler_skew);
  timers.merge(added);
  for (const fact::WorkerDigest& digest : block.workers) {
    WorkerNumbers& worker = workers.at(digest.rank);
    worker.data_wait_seconds.merge(statistics_of(digest.data_wait));
    worker.forward_seconds.merge(statistics_of(digest.forward));
    worker.backward_seconds.merge(statistics_of(digest.backward));
    worker.compute_seconds.merge(statistics_of(digest.compute));
    worker.sync_wait_seconds.merge(statistics_of(digest.sync_wait));
    worker.straggler_wait_seconds.merge(statistics_of(digest.straggler_wait));
  }
}

IterationPlace place_of(const PhaseNumbers& phase, const fact::IterationBlock& block, double time,
                        std::uint64_t samples_per_epoch) {
  const fact::Membership& membership = phase.membership;
  const std::uint64_t complete = block.first + block.count;
  const std::uint64_t position =
      membership.position + (complete - membership.first_iteration) * membership.batch_size;
  const auto per_epoch = static_cast<double>(std::max<std::uint64_t>(1, samples_per_epoch));
  return {complete, static_cast<double>(position) / per_epoch, std::max(phase.begin_time, time)};
}

CurvePoint curve_point(const fact::IterationBlock& block, const IterationPlace& last,
                       const fact::SeriesDigest& digest) {
  const bool any = digest.count > 0;
  return {.first_iteration = block.first + 1,
          .last_iteration = last.complete,
          .epoch = last.epoch,
          .time = last.time,
          .count = digest.count,
          .mean = any ? digest.moments[0] : 0.0,
          .minimum = any ? digest.moments[2] : 0.0,
          .maximum = any ? digest.moments[3] : 0.0};
}

}  // namespace scavenger::elastic
