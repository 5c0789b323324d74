#include "elastic/page/run_history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "elastic/history/evaluation_metric.h"
#include "elastic/history/iteration_timers.h"
#include "elastic/history/series_digest.h"
#include "elastic/report/progress_text.h"
#include "elastic/report/quantity_text.h"

namespace scavenger::elastic {
namespace {

// An estimate is taken so often, or once in so many of the job's seconds, whichever is rarer.
constexpr double kNoiseSeconds = 0.2;
constexpr double kNoiseSamples = 2000.0;

// The mean over the workers of iteration i.
double mean_of(const fact::Iterations& iterations, std::vector<double> fact::WorkerSeries::*series,
               std::size_t i) {
  double sum = 0.0;
  for (const fact::WorkerSeries& worker : iterations.workers) sum += (worker.*series)[i];
  return iterations.workers.empty() ? std::numeric_limits<double>::quiet_NaN()
                                    : sum / static_cast<double>(iterations.workers.size());
}

}  // namespace

void RunHistory::apply(const LoggedEvent& logged) {
  const std::uint64_t before = numbers().iterations;
  summary_.apply(logged);
  pace_.apply(logged);
  if (numbers().iterations < before) forget_after(numbers().iterations);
  std::visit([&](const auto& fact) { add(logged, fact); }, logged.event);
  note(logged);
}

void RunHistory::forget_after(std::uint64_t iteration) {
  for (DownsampledCurve* curve :
       {&timers_.seconds, &timers_.data_wait, &timers_.forward, &timers_.backward,
        &timers_.sync_wait, &noise_.value, &noise_.low, &noise_.high})
    curve->forget_after(iteration);
  for (auto& [index, curve] : worker_seconds_) curve.forget_after(iteration);
  for (MetricCurve& metric : metrics_) metric.values.forget_after(iteration);
}

void RunHistory::add(const LoggedEvent& logged, const fact::Iterations& iterations) {
  add_timers(logged, iterations);
  sample_noise(logged.time);
}

// One point of each curve.
void RunHistory::add(const LoggedEvent& logged, const fact::IterationBlock& block) {
  const auto phase = std::find_if(
      numbers().phases.rbegin(), numbers().phases.rend(), [&](const PhaseNumbers& one) {
        return one.membership.membership_epoch == block.membership_epoch;
      });
  const IterationPlace place =
      place_of(*phase, block, logged.time, numbers().start.samples_per_epoch);
  timers_.seconds.add(curve_point(block, place, block.seconds));
  timers_.data_wait.add(curve_point(block, place, block.data_wait));
  timers_.forward.add(curve_point(block, place, block.forward));
  timers_.backward.add(curve_point(block, place, block.backward));
  timers_.sync_wait.add(curve_point(block, place, block.sync_wait));
  const std::vector<std::uint32_t>& indices = phase->membership.indices;
  for (std::size_t rank = 0; rank < indices.size(); ++rank) {
    if (indices[rank] >= kMaxWorkerCurves) continue;
    SeriesStatistics seconds;
    for (const fact::PaceSample& sample : block.pace)
      if (rank < sample.seconds.size()) seconds.add(sample.seconds[rank]);
    worker_seconds_[indices[rank]].add(curve_point(
        block, place, digest_of(seconds.moments(), seconds.minimum(), seconds.maximum())));
  }
  sample_noise(logged.time);
}

void RunHistory::add_timers(const LoggedEvent& logged, const fact::Iterations& iterations) {
  const auto phase = std::find_if(
      numbers().phases.rbegin(), numbers().phases.rend(), [&](const PhaseNumbers& one) {
        return one.membership.membership_epoch == iterations.membership_epoch;
      });
  for_each_place(
      *phase, iterations, logged.time, numbers().start.samples_per_epoch,
      [&](std::size_t i, const IterationPlace& place) {
        const auto add_mean = [&](DownsampledCurve& curve,
                                  std::vector<double> fact::WorkerSeries::*series) {
          curve.add(place.complete, place.epoch, place.time, mean_of(iterations, series, i));
        };
        add_worker_seconds(phase->membership, iterations, i, place);
        timers_.seconds.add(place.complete, place.epoch, place.time, iterations.seconds[i]);
        add_mean(timers_.data_wait, &fact::WorkerSeries::data_wait);
        add_mean(timers_.forward, &fact::WorkerSeries::forward);
        add_mean(timers_.backward, &fact::WorkerSeries::backward);
        add_mean(timers_.sync_wait, &fact::WorkerSeries::sync_wait);
      });
}

void RunHistory::add_worker_seconds(const fact::Membership& membership,
                                    const fact::Iterations& iterations, std::size_t i,
                                    const IterationPlace& place) {
  for (const fact::WorkerSeries& worker : iterations.workers) {
    const std::uint32_t index = membership.indices.at(worker.rank);
    if (index >= kMaxWorkerCurves) continue;
    worker_seconds_[index].add(place.complete, place.epoch, place.time,
                               worker.data_wait[i] + worker.forward[i] + worker.backward[i]);
  }
}

void RunHistory::sample_noise(double time) {
  if (time < next_noise_time_) return;
  next_noise_time_ = time + std::max(kNoiseSeconds, time / kNoiseSamples);
  const std::optional<NoiseNumbers> noise = numbers().noise.numbers();
  if (!noise) return;
  const noise::Measured& scale = noise->estimate.noise_scale;
  const std::uint64_t iteration = numbers().iterations;
  const double epoch = numbers().epochs();
  noise_.value.add(iteration, epoch, time, scale.value);
  noise_.low.add(iteration, epoch, time, scale.interval.low);
  noise_.high.add(iteration, epoch, time, scale.interval.high);
}

void RunHistory::add(const LoggedEvent& logged, const fact::Evaluation& evaluation) {
  for (const MetricEntry& entry : kMetrics) {
    const Metric metric = entry.word;
    const std::optional<double> value = metric_of(evaluation, metric);
    if (!value) continue;
    auto curve = std::find_if(metrics_.begin(), metrics_.end(), [&](const MetricCurve& known) {
      return known.split == evaluation.split && known.metric == metric;
    });
    if (curve == metrics_.end())
      curve = metrics_.insert(metrics_.end(),
                              {.split = evaluation.split, .metric = metric, .values = {}});
    curve->values.add(evaluation.iteration, evaluation.epoch, logged.time, *value);
  }
}

// The processes of a process of scavenger-train end with it.
void RunHistory::add(const LoggedEvent& logged, const fact::Start&) {
  end_lives(logged.time);
  for (MachineLife& life : machines_.latest)
    if (!life.ended) life.ended = logged.time;
}

void RunHistory::add(const LoggedEvent& logged, const fact::End&) {
  end_lives(logged.time);
}

void RunHistory::end_lives(double time) {
  for (ProcessLife& life : processes_.latest) {
    if (life.ended) continue;
    life.ended = time;
    life.end = LifeEnd::kReleased;
  }
}

// Who trained before and does not any more has been released; who has not yet waits for its turn.
void RunHistory::add(const LoggedEvent& logged, const fact::Membership& membership) {
  for (ProcessLife& life : processes_.latest) {
    if (life.ended || life.role != Role::kWorker) continue;
    const bool trains = std::find(membership.indices.begin(), membership.indices.end(),
                                  life.index) != membership.indices.end();
    if (life.trained && !trains) {
      life.ended = logged.time;
      life.end = LifeEnd::kReleased;
    }
    life.trained = trains;
  }
}

ProcessLife* RunHistory::find_life(Role role, std::uint32_t index, std::int64_t pid) {
  for (auto life = processes_.latest.rbegin(); life != processes_.latest.rend(); ++life)
    if (life->role == role && life->index == index && life->pid == pid && !life->ended)
      return &*life;
  return nullptr;
}

void RunHistory::add(const LoggedEvent& logged, const fact::ProcessStarted& started) {
  ProcessLife life;
  life.role = started.role;
  life.index = started.index;
  life.pid = started.pid;
  life.started = logged.time;
  processes_.add(std::move(life));
}

void RunHistory::add(const LoggedEvent& logged, const fact::ProcessJoined& joined) {
  if (ProcessLife* const life = find_life(joined.role, joined.index, joined.pid))
    life->joined = logged.time;
}

void RunHistory::add(const LoggedEvent& logged, const fact::ProcessLost& lost) {
  ProcessLife* const life = find_life(lost.role, lost.index, lost.pid);
  if (life == nullptr) return;
  life->ended = logged.time;
  life->end = LifeEnd::kLost;
  life->how = lost.how;
}

void RunHistory::add(const LoggedEvent& logged, const fact::Checkpoint& checkpoint) {
  checkpoints_.add({.time = logged.time, .fact = checkpoint});
}

void RunHistory::add(const LoggedEvent& logged, const fact::NoiseStable& stable) {
  stable_noise_.add({.time = logged.time, .fact = stable});
}

double MachineLife::seconds(double time) const {
  return ready ? charged_seconds + std::max(0.0, std::min(time, ended.value_or(time)) - *ready)
               : 0.0;
}

double MachineLife::cost(double time) const {
  return ready ? machine_cost(machine.price_per_hour, seconds(time), machine.minimum_seconds) : 0.0;
}

double MachineLife::on_demand_cost(double time) const {
  return ready ? machine_cost(machine.on_demand_price_per_hour, seconds(time),
                              machine.minimum_seconds)
               : 0.0;
}

// That of the same name; or the worker's request, which gets its name when it is ready. A refused
// one is asked for again under its name, and one that a killed process had may be taken over.
MachineLife& RunHistory::machine_life(const LoggedEvent& logged, const fact::Machine& machine) {
  using Change = fact::MachineChange;
  for (auto life = machines_.latest.rbegin(); life != machines_.latest.rend(); ++life) {
    if (life->machine.worker != machine.worker) continue;
    const Change last = life->machine.change;
    const bool is_over = last == Change::kLost || last == Change::kReleased;
    const bool is_request = !life->ready && machine.change == Change::kReady;
    if (!is_over && (life->machine.name == machine.name || is_request)) return *life;
  }
  MachineLife life;
  life.requested = logged.time;
  machines_.add(std::move(life));
  return machines_.latest.back();
}

void RunHistory::add(const LoggedEvent& logged, const fact::Machine& machine) {
  MachineLife& life = machine_life(logged, machine);
  life.machine = machine;
  life.ended.reset();
  switch (machine.change) {
    case fact::MachineChange::kRequested:
      break;
    case fact::MachineChange::kReady:
      if (life.ready) break;  // taken over
      life.ready = logged.time;
      life.charged_seconds = machine.charged_seconds;
      break;
    case fact::MachineChange::kNotice:
      life.notice = logged.time;
      break;
    case fact::MachineChange::kRefused:
      if (life.refusals.size() < MachineLife::kMaxRefusals)
        life.refusals.push_back({logged.time, machine.zone, machine.machine_type, machine.reason});
      life.ended = logged.time;
      break;
    case fact::MachineChange::kLost:
    case fact::MachineChange::kReleased:
      life.ended = logged.time;
      break;
  }
}

void RunHistory::add(const LoggedEvent& logged, const fact::Prediction& prediction) {
  for (const fact::PredictedConfiguration& candidate : prediction.candidates)
    if (candidate.workers == prediction.workers && candidate.batch_size == prediction.batch_size)
      choices_.add({.time = logged.time,
                    .iteration = prediction.iteration,
                    .policy = prediction.policy,
                    .reason = prediction.reason,
                    .relative = prediction.relative,
                    .predicted = candidate});
}

void RunHistory::note(const LoggedEvent& logged) {
  // These have curves and tables of their own.
  if (std::holds_alternative<fact::Evaluation>(logged.event) ||
      std::holds_alternative<fact::Checkpoint>(logged.event))
    return;
  EventText text = event_text(logged, numbers());
  const bool is_outcome = std::holds_alternative<fact::TargetReached>(logged.event) ||
                          std::holds_alternative<fact::End>(logged.event);
  if (std::holds_alternative<fact::End>(logged.event))
    text = {Attention::kMilestone, end_line(numbers())};
  if (text.attention == Attention::kNone && !is_outcome) return;
  if (const auto* reached = std::get_if<fact::TargetReached>(&logged.event))
    text = {Attention::kMilestone,
            "target reached: " + format_metric(reached->split, reached->metric, reached->value)};
  notes_.add({.time = logged.time,
              .iteration = numbers().iterations,
              .kind = std::string(event_name(logged.event)),
              .attention = text.attention,
              .text = std::move(text.text)});
}

}  // namespace scavenger::elastic
