#include "elastic/history/run_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>
#include <variant>

#include "elastic/history/evaluation_metric.h"
#include "elastic/history/iteration_timers.h"
#include "elastic/history/phase_folding.h"
#include "elastic/history/series_digest.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

constexpr double kHourSeconds = 3600.0;

[[noreturn]] void contradiction(std::string what) {
  throw InputError({.what = std::move(what),
                    .where = "the event log",
                    .remedy = "its beginning or a part of it is missing"});
}

PhaseNumbers new_phase(double time, const fact::Membership& membership, double price) {
  PhaseNumbers phase;
  phase.membership = membership;
  phase.begin_time = time;
  phase.price_per_worker_hour = price;
  phase.workers.resize(membership.workers);
  for (std::uint32_t rank = 0; rank < membership.workers; ++rank) {
    phase.workers[rank].rank = rank;
    phase.workers[rank].share = membership.shares[rank];
  }
  return phase;
}

// Of the last evaluations: what of them came after the last step of a search.
double evaluation_seconds_since_step(const RunNumbers& numbers) {
  if (numbers.search_steps.latest.empty()) return 0.0;
  const double step = numbers.search_steps.latest.back().time;
  double sum = 0.0;
  for (const SplitNumbers& split : numbers.splits)
    sum += std::clamp(split.last.time - step, 0.0, split.last.fact.seconds);
  return sum;
}

void add_to_phase(const fact::Iterations& iterations, std::size_t i, PhaseNumbers& phase) {
  if (std::isnan(iterations.seconds[i])) return;  // nobody lived to tell
  add_iteration(iterations, i, phase, phase.workers);
  phase.latest_iteration_seconds.add(iterations.seconds[i]);
}

}  // namespace

std::string_view status_name(const RunNumbers& numbers) {
  if (numbers.status) return name_of(*numbers.status);
  return numbers.paused_since ? "paused" : "running";
}

double RunNumbers::epochs() const {
  return start.samples_per_epoch == 0
             ? 0.0
             : static_cast<double>(position) / static_cast<double>(start.samples_per_epoch);
}

double RunNumbers::cost_at(double time) const {
  const double later = std::max(seconds, time);
  return bill.is_empty() ? cost + cost_per_second * (later - seconds) : bill.cost(later);
}

double RunNumbers::samples_per_second() const {
  return seconds > 0.0 ? static_cast<double>(samples_trained) / seconds : 0.0;
}

const SplitNumbers* RunNumbers::find_split(Split split) const {
  const auto found = std::find_if(splits.begin(), splits.end(),
                                  [&](const SplitNumbers& known) { return known.split == split; });
  return found == splits.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> RunNumbers::room_samples() const {
  std::map<std::uint32_t, std::uint64_t> room;
  for (const auto& measured : sample_memory.latest)
    room[measured.fact.worker] = measured.fact.room_samples;
  if (room.empty()) return std::nullopt;
  return std::ranges::min(std::views::values(room));
}

void IterationTimers::merge(const IterationTimers& other) {
  iteration_seconds.merge(other.iteration_seconds);
  data_wait_seconds.merge(other.data_wait_seconds);
  forward_seconds.merge(other.forward_seconds);
  backward_seconds.merge(other.backward_seconds);
  compute_seconds.merge(other.compute_seconds);
  sync_wait_seconds.merge(other.sync_wait_seconds);
  transfer_seconds.merge(other.transfer_seconds);
  straggler_skew.merge(other.straggler_skew);
}

double PhaseNumbers::waiting_seconds() const {
  double sum = 0.0;
  for (const WorkerNumbers& worker : workers) {
    const RunningMoments& waiting = worker.straggler_wait_seconds.moments();
    sum += waiting.mean() * static_cast<double>(waiting.count());
  }
  return sum;
}

double PhaseNumbers::waiting_share() const {
  const RunningMoments& moments = iteration_seconds.moments();
  return waiting_seconds() / (moments.mean() * static_cast<double>(moments.count()) *
                              static_cast<double>(workers.size()));
}

bool has_even_shares(const fact::Membership& membership) {
  const auto [least, most] = std::ranges::minmax(membership.shares);
  return most - least <= 1;
}

std::vector<ConfigurationNumbers> RunNumbers::configurations() const {
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, ConfigurationNumbers> merged;
  for (const PhaseNumbers& phase : phases) {
    if (phase.iterations == 0) continue;
    const fact::Membership& membership = phase.membership;
    const bool even = has_even_shares(membership);
    ConfigurationNumbers& one = merged[{membership.workers, membership.batch_size, !even}];
    one.workers = membership.workers;
    one.batch_size = membership.batch_size;
    one.has_even_shares = even;
    one.iterations += phase.iterations;
    one.discarded_iterations += phase.discarded_iterations;
    one.merge(phase);
  }
  std::vector<ConfigurationNumbers> list;
  for (auto& [key, one] : merged) list.push_back(std::move(one));
  return list;
}

void RunSummary::apply(const LoggedEvent& logged) {
  if (numbers_.starts.total == 0 && !std::holds_alternative<fact::Start>(logged.event))
    contradiction(fmt::format("the first event is '{}' and not 'start'", event_name(logged.event)));
  advance_to(logged.time);
  std::visit([&](const auto& fact) { apply_fact(logged.time, fact); }, logged.event);
}

void RunSummary::advance_to(double time) {
  const double elapsed = std::max(0.0, time - numbers_.seconds);
  numbers_.seconds += elapsed;
  if (!numbers_.bill.is_empty()) numbers_.cost = numbers_.bill.cost(numbers_.seconds);
  if (!in_phase_) {
    numbers_.start_up_seconds += elapsed;
    return;
  }
  PhaseNumbers& phase = numbers_.phases.back();
  const double cost =
      elapsed * phase.membership.workers * phase.price_per_worker_hour / kHourSeconds;
  phase.seconds += elapsed;
  if (numbers_.paused_since) phase.paused_seconds += elapsed;
  phase.cost += cost;
  if (numbers_.bill.is_empty()) numbers_.cost += cost;
}

void RunSummary::apply_fact(double time, const fact::Start& start) {
  numbers_.bill.suspend(time);
  numbers_.start = start;
  numbers_.starts.add({.time = time, .fact = start});
  numbers_.status.reset();
  numbers_.reason.clear();
  numbers_.exit_code = 0;
  numbers_.target_reached.reset();
  leave_phase();
  first_phase_ = numbers_.phases.size();
  if (!start.resumed_from_iteration) return;
  go_back_to(*start.resumed_from_iteration);
}

// What came after was lost, and is done again.
void RunSummary::go_back_to(std::uint64_t from) {
  if (numbers_.iterations > from) numbers_.iterations_repeated += numbers_.iterations - from;
  numbers_.iterations = from;
  numbers_.training_loss.forget_after(from);
  for (SplitNumbers& split : numbers_.splits) {
    split.loss.forget_after(from);
    split.accuracy.forget_after(from);
    split.followed.forget_after(from);
  }
}

void RunSummary::apply_fact(double time, const fact::Membership& membership) {
  numbers_.phases.push_back(new_phase(time, membership, numbers_.start.price_per_worker_hour));
  numbers_.phases.back().evaluation_seconds_before = evaluation_seconds_since_step(numbers_);
  fold_old_phases(numbers_.phases, first_phase_);
  if (numbers_.iterations > membership.first_iteration) go_back_to(membership.first_iteration);
  numbers_.iterations = membership.first_iteration;
  numbers_.position = membership.position;
  numbers_.paused_since.reset();
  numbers_.cost_per_second =
      membership.workers * numbers_.start.price_per_worker_hour / kHourSeconds;
  in_phase_ = true;
}

PhaseNumbers& RunSummary::phase_of(std::uint32_t membership_epoch, std::uint64_t first,
                                   std::uint32_t ranks) {
  // From the end: what comes late is of the phase before at most.
  for (std::size_t i = numbers_.phases.size(); i > first_phase_; --i) {
    PhaseNumbers& phase = numbers_.phases[i - 1];
    if (phase.membership.membership_epoch != membership_epoch) continue;
    if (first < phase.membership.first_iteration) break;
    if (ranks > phase.workers.size())
      contradiction(fmt::format("iterations from {} have a rank {} in a membership of {} workers",
                                first, ranks - 1, phase.workers.size()));
    return phase;
  }
  contradiction(fmt::format("iterations from {} belong to membership {}, which was not announced",
                            first, membership_epoch));
}

void RunSummary::count(PhaseNumbers& phase, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t samples = count * phase.membership.batch_size;
  phase.iterations += count;
  phase.samples += samples;
  numbers_.iterations_trained += count;
  numbers_.samples_trained += samples;
  const std::uint64_t complete = first + count;
  if (complete <= numbers_.iterations) return;
  numbers_.iterations = complete;
  numbers_.position = phase.membership.position +
                      (complete - phase.membership.first_iteration) * phase.membership.batch_size;
}

void RunSummary::apply_fact(double time, const fact::Iterations& iterations) {
  std::uint32_t ranks = 0;
  for (const fact::WorkerSeries& worker : iterations.workers)
    ranks = std::max(ranks, worker.rank + 1);
  PhaseNumbers& phase = phase_of(iterations.membership_epoch, iterations.first, ranks);
  for (std::size_t i = 0; i < iterations.count; ++i) {
    const bool is_first = iterations.first + i == phase.membership.first_iteration;
    if (!is_first && std::isfinite(iterations.seconds[i]))
      phase.seconds_after_first.add(iterations.seconds[i]);
    if (phase.discarded_iterations < PhaseNumbers::kDiscardedIterations)
      ++phase.discarded_iterations;
    else
      add_to_phase(iterations, i, phase);
  }
  count(phase, iterations.first, iterations.count);
  phase.noise.add(phase.membership, iterations);
  numbers_.noise.add(phase.membership, iterations);
  add_to_curve(time, phase, iterations);
}

void RunSummary::apply_fact(double time, const fact::IterationBlock& block) {
  std::uint32_t ranks = 0;
  for (const fact::WorkerDigest& worker : block.workers) ranks = std::max(ranks, worker.rank + 1);
  PhaseNumbers& phase = phase_of(block.membership_epoch, block.first, ranks);
  phase.discarded_iterations += block.discarded;
  add_block(block, phase, phase.workers);
  phase.latest_iteration_seconds.add(statistics_of(block.seconds));
  count(phase, block.first, block.count);
  phase.noise.restore(block.membership_noise);
  numbers_.noise.add(phase.membership, block);
  const IterationPlace place = place_of(phase, block, time, numbers_.start.samples_per_epoch);
  numbers_.training_loss.add(curve_point(block, place, block.loss));
}

void RunSummary::add_to_curve(double time, const PhaseNumbers& phase,
                              const fact::Iterations& iterations) {
  for_each_place(phase, iterations, time, numbers_.start.samples_per_epoch,
                 [&](std::size_t i, const IterationPlace& place) {
                   numbers_.training_loss.add(place.complete, place.epoch, place.time,
                                              iterations.loss[i]);
                 });
}

void RunSummary::apply_fact(double time, const fact::Model& model) {
  numbers_.model = {.time = time, .fact = model};
  numbers_.noise.set_groups(model.groups);
}

void RunSummary::apply_fact(double, const fact::NoiseStable& stable) {
  numbers_.noise.note_announced(stable.noise_phase);
}

void RunSummary::apply_fact(double time, const fact::RateDecision& decision) {
  numbers_.rate_decisions.add({.time = time, .fact = decision});
}

void RunSummary::apply_fact(double time, const fact::DeviceUse& memory) {
  numbers_.device_use.add({.time = time, .fact = memory});
}

void RunSummary::apply_fact(double time, const fact::SampleMemory& memory) {
  numbers_.sample_memory.add({.time = time, .fact = memory});
}

void RunSummary::apply_fact(double time, const fact::Evaluation& evaluation) {
  const Timed<fact::Evaluation> timed{.time = time, .fact = evaluation};
  auto split =
      std::find_if(numbers_.splits.begin(), numbers_.splits.end(),
                   [&](const SplitNumbers& known) { return known.split == evaluation.split; });
  if (split == numbers_.splits.end()) {
    split = numbers_.splits.emplace(numbers_.splits.end());
    split->split = evaluation.split;
    split->best = split->most_accurate = split->least_loss = timed;
  }
  if (in_phase_) numbers_.phases.back().evaluation_seconds += evaluation.seconds;
  ++split->evaluations;
  split->seconds += evaluation.seconds;
  split->last = timed;
  const Metric metric = followed_metric(numbers_.start, evaluation);
  if (is_better(metric, metric_of(evaluation, metric), metric_of(split->best.fact, metric)))
    split->best = timed;
  const std::optional<double> accuracy = evaluation.metrics[Metric::kAccuracy];
  if (accuracy > split->most_accurate.fact.metrics[Metric::kAccuracy]) split->most_accurate = timed;
  if (evaluation.loss < split->least_loss.fact.loss) split->least_loss = timed;
  split->loss.add(evaluation.iteration, evaluation.epoch, time, evaluation.loss);
  if (accuracy) split->accuracy.add(evaluation.iteration, evaluation.epoch, time, *accuracy);
  if (const auto followed = metric_of(evaluation, metric))
    split->followed.add(evaluation.iteration, evaluation.epoch, time, *followed);
}

void RunSummary::apply_fact(double time, const fact::Checkpoint& checkpoint) {
  CheckpointNumbers& checkpoints = numbers_.checkpoints;
  ++checkpoints.written;
  checkpoints.stall_seconds.add(checkpoint.stall_seconds);
  checkpoints.write_seconds.add(checkpoint.write_seconds);
  checkpoints.last = {.time = time, .fact = checkpoint};
  if (checkpoint.best) checkpoints.best = checkpoints.last;
}

void RunSummary::apply_fact(double time, const fact::CheckpointFailed& failed) {
  ++numbers_.checkpoints.failed;
  numbers_.failures.add({.time = time, .event = failed});
}

void RunSummary::apply_fact(double time, const fact::CheckpointDamaged& damaged) {
  ++numbers_.checkpoints.damaged;
  numbers_.failures.add({.time = time, .event = damaged});
}

void RunSummary::apply_fact(double time, const fact::ProcessLost& lost) {
  ++numbers_.recoveries.losses;
  numbers_.failures.add({.time = time, .event = lost});
}

void RunSummary::apply_fact(double time, const fact::Recovery& recovery) {
  numbers_.recoveries.iterations_lost += recovery.iterations_lost;
  if (!recovery.lost.empty()) numbers_.recoveries.seconds.add(recovery.seconds);
  numbers_.recoveries.list.add({.time = time, .fact = recovery});
}

void RunSummary::apply_fact(double, const fact::Pause& pause) {
  if (!pause.paused) return numbers_.paused_since.reset();
  if (!numbers_.paused_since) numbers_.paused_since = numbers_.seconds;
}

void RunSummary::leave_phase() {
  in_phase_ = false;
  numbers_.paused_since.reset();
  numbers_.cost_per_second = 0.0;
}

void RunSummary::apply_fact(double time, const fact::TargetReached& reached) {
  numbers_.target_reached = {.time = time, .fact = reached};
}

void RunSummary::apply_fact(double time, const fact::Machine& machine) {
  numbers_.machines.add({.time = time, .fact = machine});
  numbers_.bill.apply(time, machine);
}

void RunSummary::apply_fact(double time, const fact::SearchStep& step) {
  numbers_.search_steps.add({.time = time, .fact = step});
}

void RunSummary::apply_fact(double time, const fact::VmStep& step) {
  numbers_.vm_steps.add({.time = time, .fact = step});
}

void RunSummary::apply_fact(double time, const fact::Prediction& prediction) {
  numbers_.prediction = {.time = time, .fact = prediction};
}

void RunSummary::apply_fact(double time, const fact::Warning& warning) {
  numbers_.warnings.add({.time = time, .fact = warning});
}

void RunSummary::apply_fact(double, const fact::End& end) {
  numbers_.status = end.status;
  numbers_.reason = end.reason;
  numbers_.exit_code = end.exit_code;
  numbers_.iterations = end.iteration;
  numbers_.position = end.position;
  leave_phase();
}

}  // namespace scavenger::elastic
