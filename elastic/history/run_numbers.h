// What a run's events add up to: the numbers behind report.json, the progress display, and the
// report page. Plain data; docs/report.md explains each number to users.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/events/series_statistics.h"
#include "elastic/history/downsampled_curve.h"
#include "elastic/history/job_noise.h"
#include "elastic/history/machine_bill.h"

namespace scavenger::elastic {

// The latest kMaxListed of something, and how many there were in all.
template <typename T>
struct LatestList {
  static constexpr std::size_t kMaxListed = 200;

  std::uint64_t total = 0;
  std::deque<T> latest;

  void add(T item) {
    ++total;
    latest.push_back(std::move(item));
    if (latest.size() > kMaxListed) latest.pop_front();
  }
};

// A fact and the job's time at which it was logged.
template <typename Fact>
struct Timed {
  double time = 0.0;
  Fact fact;
};

struct WorkerNumbers {
  std::uint32_t rank = 0;
  std::uint32_t share = 0;  // b_k
  SeriesStatistics data_wait_seconds;
  SeriesStatistics forward_seconds;
  SeriesStatistics backward_seconds;
  SeriesStatistics compute_seconds;    // forward + backward
  SeriesStatistics sync_wait_seconds;  // exposed: from the end of backward to new weights
  // Part of it for workers that were slower; the rest is transfer and step.
  SeriesStatistics straggler_wait_seconds;
};

// Where the time of iterations went. Each iteration counts once; of what every worker measures it
// counts the mean over the workers.
struct IterationTimers {
  SeriesStatistics iteration_seconds;
  SeriesStatistics data_wait_seconds;
  SeriesStatistics forward_seconds;
  SeriesStatistics backward_seconds;
  SeriesStatistics compute_seconds;  // forward + backward
  SeriesStatistics sync_wait_seconds;
  // The least of the workers' sync waits: the one that comes last waits for nobody, so what it
  // waits is transfer and step.
  SeriesStatistics transfer_seconds;
  RunningMoments straggler_skew;  // slowest worker's compute over the workers' mean; 1: all equal

  void merge(const IterationTimers& other);
};

// One membership: a period with the same workers and the same B; old ones of a run with very many
// are folded together (phase_folding.h). The first kDiscardedIterations are
// left out of the timers (caches, connections and memory are still being set up).
struct PhaseNumbers : IterationTimers {
  static constexpr std::uint32_t kDiscardedIterations = 3;

  fact::Membership membership;
  std::uint64_t memberships = 1;  // above 1: many with one (K, B) that were folded together
  double begin_time = 0.0;
  double seconds = 0.0;         // wall, with evaluations and all pauses
  double paused_seconds = 0.0;  // part of it in which it stood still since somebody asked for it
  double evaluation_seconds = 0.0;  // part of it in which the workers evaluated
  // Evaluations between the search's step that led here and its beginning.
  double evaluation_seconds_before = 0.0;
  double price_per_worker_hour = 0.0;
  double cost = 0.0;  // seconds x K x price / 3600
  std::uint64_t iterations = 0;
  std::uint64_t samples = 0;
  std::uint64_t discarded_iterations = 0;
  std::vector<WorkerNumbers> workers;
  LatestSeries latest_iteration_seconds;
  // Of all iterations but the first one, as long as each is an event of its own.
  RunningMoments seconds_after_first;
  NoiseMeter noise;  // of this membership alone

  // Seconds that workers have waited for slower ones, all together.
  double waiting_seconds() const;
  // Of the time of all workers; not a number before there are iterations.
  double waiting_share() const;
};

// As even as whole samples can be.
bool has_even_shares(const fact::Membership& membership);

// Where an iteration lies that is complete: the abscissas of curves.
struct IterationPlace {
  std::uint64_t complete = 0;  // iterations, with it
  double epoch = 0.0;
  double time = 0.0;  // seconds of the job's life
};

// Calls visit(i, place) for each iteration of a series that was logged at `time`, but for those
// whose seconds are not known. The series ends when it is logged; its iterations ended that much
// earlier, in their phase.
template <typename Visit>
void for_each_place(const PhaseNumbers& phase, const fact::Iterations& series, double time,
                    std::uint64_t samples_per_epoch, const Visit& visit) {
  double seconds_left = 0.0;
  for (const double seconds : series.seconds) seconds_left += std::isnan(seconds) ? 0.0 : seconds;
  const fact::Membership& membership = phase.membership;
  const auto per_epoch = static_cast<double>(std::max<std::uint64_t>(1, samples_per_epoch));
  for (std::size_t i = 0; i < series.count; ++i) {
    if (std::isnan(series.seconds[i])) continue;
    seconds_left -= series.seconds[i];
    const std::uint64_t complete = series.first + i + 1;
    const std::uint64_t position =
        membership.position + (complete - membership.first_iteration) * membership.batch_size;
    visit(i, IterationPlace{complete, static_cast<double>(position) / per_epoch,
                            std::max(phase.begin_time, time - std::max(0.0, seconds_left))});
  }
}

// All memberships with one (K, B) and even shares, or with shares that follow unequal workers'
// speeds, together.
struct ConfigurationNumbers : IterationTimers {
  std::uint32_t workers = 0;     // K
  std::uint32_t batch_size = 0;  // B
  bool has_even_shares = true;   // as even as whole samples can be
  std::uint64_t iterations = 0;
  std::uint64_t discarded_iterations = 0;
};

struct SplitNumbers {
  Split split = Split::kTest;
  std::uint64_t evaluations = 0;
  double seconds = 0.0;
  Timed<fact::Evaluation> last;
  Timed<fact::Evaluation> best;  // by the metric that is followed: that of the target
  Timed<fact::Evaluation> most_accurate;
  Timed<fact::Evaluation> least_loss;
  DownsampledCurve loss;
  DownsampledCurve accuracy;
  DownsampledCurve followed;  // of the metric that is followed
};

struct CheckpointNumbers {
  std::uint64_t written = 0;
  std::uint64_t failed = 0;
  std::uint64_t damaged = 0;
  std::optional<Timed<fact::Checkpoint>> last;
  std::optional<Timed<fact::Checkpoint>> best;
  SeriesStatistics stall_seconds;
  SeriesStatistics write_seconds;
};

struct RecoveryNumbers {
  std::uint64_t losses = 0;           // of processes
  std::uint64_t iterations_lost = 0;  // with a shard's state
  SeriesStatistics seconds;           // after losses: until the next iteration was done
  LatestList<Timed<fact::Recovery>> list;
};

struct RunNumbers {   // more than 20 fields: it has all that reports and decisions read of a run
  fact::Start start;  // of the process that worked on the job last
  LatestList<Timed<fact::Start>> starts;

  std::optional<Status> status;  // none: still running, or killed
  std::string reason;
  int exit_code = 0;
  std::optional<Timed<fact::TargetReached>> target_reached;

  double seconds = 0.0;           // the job's life until its last event
  double start_up_seconds = 0.0;  // part of it without a membership: starting, resuming
  double cost = 0.0;
  // That the workers cost now, by their price; where machines were rented, the bill knows better.
  double cost_per_second = 0.0;
  std::optional<double> paused_since;    // the job's time; none: it is not paused
  std::uint64_t iterations = 0;          // complete, as the weights know them
  std::uint64_t position = 0;            // samples consumed by them
  std::uint64_t iterations_trained = 0;  // with those that a resume did again
  std::uint64_t samples_trained = 0;
  std::uint64_t iterations_repeated = 0;  // known to be lost when a process ended, and done again

  std::vector<PhaseNumbers> phases;
  JobNoise noise;
  std::optional<Timed<fact::Model>> model;
  DownsampledCurve training_loss;
  std::vector<SplitNumbers> splits;  // in order of their first evaluation
  CheckpointNumbers checkpoints;
  RecoveryNumbers recoveries;
  LatestList<LoggedEvent> failures;  // process_lost, checkpoint_failed, checkpoint_damaged
  LatestList<Timed<fact::Warning>> warnings;
  LatestList<Timed<fact::RateDecision>> rate_decisions;
  LatestList<Timed<fact::SampleMemory>> sample_memory;
  LatestList<Timed<fact::DeviceUse>> device_use;
  LatestList<Timed<fact::SearchStep>> search_steps;
  LatestList<Timed<fact::VmStep>> vm_steps;
  std::optional<Timed<fact::Prediction>> prediction;  // the last
  LatestList<Timed<fact::Machine>> machines;
  MachineBill bill;  // where machines were rented, `cost` is theirs

  // At `time`, seconds of the job's life, when nothing was logged since `seconds`.
  double cost_at(double time) const;
  // position / samples_per_epoch; 0 before the start is known.
  double epochs() const;
  // Over the whole wall time, with start-up, evaluations and pauses.
  double samples_per_second() const;
  const SplitNumbers* find_split(Split split) const;
  std::vector<ConfigurationNumbers> configurations() const;  // by K, then B, even shares first
  // What every worker's memory has room for in one pass; nothing if none has measured it.
  std::optional<std::uint64_t> room_samples() const;
};

// "target_reached", ... of a job that has ended; "paused", "running" if the log has no end yet.
std::string_view status_name(const RunNumbers& numbers);

}  // namespace scavenger::elastic
