#include "elastic/batching/batch_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "elastic/batching/machine_power.h"
#include "runtime/config/placement.h"

namespace scavenger::elastic {
namespace {

// The first iterations of a membership: caches and loaders are cold.
constexpr std::uint64_t kSettlingIterations = 2;
// From so many on, times are looked at.
constexpr std::size_t kFewestIterations = 3;
// After so many, what the last change did is known.
constexpr std::size_t kLearningIterations = 10;
// The case for a change must be worth this many iterations of it, twice as many for each change of
// late; after this many iterations one change less is of late.
constexpr double kEvidence = 2.0;
constexpr double kRestraintIterations = 100.0;
constexpr double kMostRestraint = 6.0;
// Less than this is no fall of a worker's throughput.
constexpr double kThroughputTolerance = 0.05;
// How long a bound holds that was learned: after that, it is tried again.
constexpr double kBoundIterations = 2000.0;

// How far apart alike workers' times may come to lie by chance, in standard errors of one: the
// range of so many normal variables, and one more.
double reach_of_noise(std::uint32_t workers) {
  return 1.0 + 2.0 * std::sqrt(2.0 * std::log(workers));
}

double spread(const std::vector<double>& seconds) {
  const auto [least, most] = std::ranges::minmax(seconds);
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return (most - least) * static_cast<double>(seconds.size()) / sum;
}

}  // namespace

BatchingSettings batching_settings(const JobConfig& config, const MachineCatalogue& catalogue) {
  BatchingSettings settings;
  settings.dead_band = config.batching.dead_band;
  settings.gains = {config.batching.integral_gain, config.batching.derivative_gain};
  settings.bounds.smallest_share = config.batching.smallest_share;
  settings.machine_powers = machine_powers(catalogue, config.cluster.threads_per_worker);
  const std::uint32_t kinds = config.cluster.hosts.empty() ? 1 : places(config.cluster);
  for (std::uint32_t worker = 0; worker < kinds; ++worker)
    settings.bounds.largest_shares.push_back(largest_share_of(config, worker));
  return settings;
}

BatchController::BatchController(BatchingSettings settings)
    : settings_(std::move(settings)),
      change_seconds_(settings_.change_seconds),
      rule_(settings_.bounds) {}

std::optional<ShareProposal> BatchController::observe(const RunEvent& event) {
  if (const auto* iterations = std::get_if<fact::Iterations>(&event)) return observe(*iterations);
  if (const auto* block = std::get_if<fact::IterationBlock>(&event)) return observe(*block);
  if (const auto* machine = std::get_if<fact::Machine>(&event)) observe(*machine);
  if (const auto* membership = std::get_if<fact::Membership>(&event)) observe(*membership);
  if (const auto* recovery = std::get_if<fact::Recovery>(&event)) observe(*recovery);
  return std::nullopt;
}

// Another machine of the type that the worker had before is taken to be as fast as that one was.
void BatchController::observe(const fact::Machine& machine) {
  if (machine.change != fact::MachineChange::kReady) return;
  if (machine_types_[machine.worker] == machine.machine_type) return;
  machine_types_[machine.worker] = machine.machine_type;
  measured_speeds_.erase(machine.worker);
  learned_bounds_.erase(machine.worker);
  errors_.forget(machine.worker);
  rule_ = rule_for(measured_speeds_);
}

void BatchController::observe(const fact::Membership& membership) {
  membership_ = membership;
  window_ = PaceWindow(membership.workers);
  errors_.begin(membership.indices);
  seen_ = 0;
  waits_ = false;
  evidence_ = seconds_lost_ = 0.0;
  evidence_iterations_ = 0;
}

void BatchController::observe(const fact::Recovery& recovery) {
  if (recovery.lost.empty() && recovery.seconds > 0.0) change_seconds_ = recovery.seconds;
}

std::optional<ShareProposal> BatchController::observe(const fact::Iterations& iterations) {
  if (iterations.membership_epoch != membership_.membership_epoch || membership_.workers < 2)
    return std::nullopt;
  if (iterations.workers.size() != membership_.workers) return std::nullopt;  // one was lost
  for (std::size_t i = 0; i < iterations.count; ++i) {
    std::vector<double> seconds;
    for (const fact::WorkerSeries& worker : iterations.workers)
      seconds.push_back(worker.data_wait[i] + worker.forward[i] + worker.backward[i]);
    if (add(std::move(seconds), 1.0))
      if (auto proposal = propose()) return proposal;
  }
  return std::nullopt;
}

// Of a block only some iterations are known, so a difference takes longer to stand out.
std::optional<ShareProposal> BatchController::observe(const fact::IterationBlock& block) {
  if (block.membership_epoch != membership_.membership_epoch || membership_.workers < 2)
    return std::nullopt;
  for (const fact::PaceSample& sample : block.pace) {
    if (sample.seconds.size() != membership_.workers) continue;
    const double stands_for =
        static_cast<double>(block.count) / static_cast<double>(block.pace.size());
    if (add(sample.seconds, stands_for))
      if (auto proposal = propose()) return proposal;
  }
  return std::nullopt;
}

// True where the case for a change is made.
bool BatchController::add(std::vector<double> seconds, double stands_for) {
  if (waits_ || ++seen_ <= kSettlingIterations) return false;
  stands_for_ = stands_for;
  const auto is_a_time = [](double time) { return std::isfinite(time) && time > 0.0; };
  if (!std::ranges::all_of(seconds, is_a_time)) return false;
  if (!settings_.gains.are_off()) errors_.add(seconds);
  window_.add(std::move(seconds));
  measured_ += stands_for;
  restraint_ = std::max(0.0, restraint_ - stands_for / kRestraintIterations);
  forget_old_bounds();
  if (window_.iterations() == kLearningIterations) learn_from_last_change();
  return window_.iterations() >= kFewestIterations && evidence_is_enough();
}

bool BatchController::evidence_is_enough() {
  const Outlook outlook = this->outlook(corrected(window_.means()));
  const double noise = reach_of_noise(membership_.workers) * window_.relative_error();
  evidence_ = std::max(0.0, evidence_ + outlook.gain - settings_.dead_band - noise);
  if (evidence_ <= 0.0) {
    seconds_lost_ = 0.0;
    evidence_iterations_ = 0;
    return lasts(outlook);
  }
  seconds_lost_ += outlook.seconds * stands_for_;
  ++evidence_iterations_;
  // Whoever changes when not changing has cost as much loses at most twice what was unavoidable.
  return evidence_ >= kEvidence * std::exp2(restraint_) && seconds_lost_ >= change_seconds_;
}

// A difference that is lost in the noise of the recent iterations may stand out of that of many:
// true where it does, and is still there.
bool BatchController::lasts(const Outlook& recent) {
  const std::size_t iterations = std::min(window_.iterations(), PaceWindow::kKept);
  if (iterations < 2 * PaceWindow::kRecent || window_.iterations() % PaceWindow::kRecent != 0)
    return false;
  const Outlook outlook = this->outlook(corrected(window_.means(iterations)));
  const double noise = reach_of_noise(membership_.workers) * window_.relative_error(iterations);
  if (outlook.gain <= settings_.dead_band + noise || recent.gain < 0.5 * outlook.gain) return false;
  if (outlook.seconds * stands_for_ * static_cast<double>(iterations) <
      change_seconds_ * std::exp2(restraint_))
    return false;
  evidence_iterations_ = iterations;
  return true;
}

// By what has been and what is to be expected, where that counts beside what is.
std::vector<double> BatchController::corrected(std::vector<double> seconds) const {
  if (settings_.gains.are_off()) return seconds;
  for (std::size_t k = 0; k < seconds.size(); ++k)
    seconds[k] *= std::exp(errors_.correction(membership_.indices[k], settings_.gains));
  return seconds;
}

std::map<std::uint32_t, double> BatchController::speeds_with(
    const std::vector<double>& seconds) const {
  std::map<std::uint32_t, double> speeds = measured_speeds_;
  for (std::size_t k = 0; k < seconds.size(); ++k)
    speeds[membership_.indices[k]] = (overhead_.samples() + membership_.shares[k]) / seconds[k];
  return speeds;
}

ShareRule BatchController::rule_for(const std::map<std::uint32_t, double>& measured_speeds) const {
  ShareRule rule = rule_;
  rule.overhead_samples = overhead_.samples();
  rule.speeds = measured_speeds;
  // Who was not measured is as fast as its machine says, in the measure of those who were.
  std::map<std::uint32_t, double> powers;
  double speed = 0.0, power_of_measured = 0.0;
  for (const auto& [worker, type] : machine_types_) {
    const auto power = settings_.machine_powers.find(type);
    if (power == settings_.machine_powers.end()) continue;
    powers[worker] = power->second;
    const auto measured = measured_speeds.find(worker);
    if (measured == measured_speeds.end()) continue;
    speed += measured->second;
    power_of_measured += power->second;
  }
  const bool is_comparable = measured_speeds.empty() || power_of_measured > 0.0;
  const double speed_per_power = power_of_measured > 0.0 ? speed / power_of_measured : 1.0;
  if (is_comparable)
    for (const auto& [worker, power] : powers) rule.speeds.emplace(worker, power * speed_per_power);
  rule.learned_bounds.clear();
  // Whoever has more already is not made to give it up: how fast it is with that is known, and the
  // others might have to take more than they can.
  for (const auto& [worker, bound] : learned_bounds_)
    rule.learned_bounds[worker] = std::max(bound.best.share, share_of(worker));
  return rule;
}

std::uint32_t BatchController::share_of(std::uint32_t worker) const {
  const auto found = std::ranges::find(membership_.indices, worker);
  if (found == membership_.indices.end()) return 0;
  return membership_.shares[static_cast<std::size_t>(found - membership_.indices.begin())];
}

BatchController::Outlook BatchController::outlook(const std::vector<double>& seconds) const {
  const ShareRule rule = rule_for(speeds_with(seconds));
  Outlook outlook;
  outlook.shares = shares_of(rule, membership_.batch_size, membership_.indices);
  std::vector<double> then;
  for (std::size_t k = 0; k < seconds.size(); ++k)
    then.push_back(rule.seconds_of(membership_.indices[k], outlook.shares[k]));
  outlook.slowest = std::ranges::max(seconds);
  outlook.slowest_then = std::ranges::max(then);
  outlook.gain = spread(seconds) - spread(then);
  outlook.seconds = outlook.slowest - outlook.slowest_then;
  return outlook;
}

std::optional<ShareProposal> BatchController::propose() {
  const std::size_t since = std::max(evidence_iterations_, kFewestIterations);
  if (window_.iterations() < kLearningIterations) learn_from_last_change();
  const std::vector<double> seconds = window_.means(since);
  const std::vector<double> corrected = this->corrected(seconds);
  const Outlook outlook = this->outlook(corrected);
  if (outlook.gain <= settings_.dead_band || outlook.shares == membership_.shares) {
    evidence_ = seconds_lost_ = 0.0;
    evidence_iterations_ = 0;
    return std::nullopt;
  }
  measured_speeds_ = speeds_with(corrected);
  rule_ = rule_for(measured_speeds_);
  before_.clear();
  for (std::size_t k = 0; k < seconds.size(); ++k)
    before_[membership_.indices[k]] = {membership_.shares[k], seconds[k]};
  learned_ = false;
  waits_ = true;
  restraint_ = std::min(kMostRestraint, restraint_ + 1.0);
  const auto slowest = std::ranges::max_element(seconds) - seconds.begin();
  return ShareProposal{
      rule_,
      fmt::format("worker {} takes {:.3g} times as long as the fastest: shares for {:.3g} ms "
                  "an iteration in place of {:.3g} ms",
                  membership_.indices[static_cast<std::size_t>(slowest)],
                  std::ranges::max(seconds) / std::ranges::min(seconds), 1e3 * outlook.slowest_then,
                  1e3 * std::ranges::max(seconds))};
}

bool BatchController::has_grown(const Measured& then, const Measured& now) {
  return now.share > (1.0 + kThroughputTolerance) * then.share;
}

// How the times of those whose shares changed have changed.
void BatchController::learn_from_last_change() {
  if (std::exchange(learned_, true)) return;
  const std::vector<double> seconds = window_.means();
  const auto speed = [this](const Measured& measured) {
    return (overhead_.samples() + measured.share) / measured.seconds;
  };
  const double slowdown_of_all = this->slowdown_of_all(seconds);
  for (std::size_t k = 0; k < seconds.size(); ++k) {
    const std::uint32_t worker = membership_.indices[k];
    const Measured now{membership_.shares[k], seconds[k]};
    const auto bound = learned_bounds_.find(worker);
    // Back at the bound it is no faster than beyond it: so it was the worker, and not the share.
    if (bound != learned_bounds_.end() && now.share <= bound->second.best.share &&
        speed(now) < (1.0 - 2.0 * kThroughputTolerance) * speed(bound->second.best))
      learned_bounds_.erase(bound);
    const auto before = before_.find(worker);
    if (before == before_.end()) continue;
    const Measured& then = before->second;
    const double least = (1.0 - kThroughputTolerance) * slowdown_of_all * then.samples_per_second();
    if (has_grown(then, now) && now.samples_per_second() < least)
      learned_bounds_[worker] = {then, measured_};
    else
      overhead_.add(then.share, then.seconds, now.share, now.seconds);
  }
}

// What the machine did meanwhile to everyone is not due to a share: the speed now of those who were
// not given more, over their speed before, at most 1.
double BatchController::slowdown_of_all(const std::vector<double>& seconds) const {
  double now_seconds = 0.0, expected_seconds = 0.0;
  for (std::size_t k = 0; k < seconds.size(); ++k) {
    const auto before = before_.find(membership_.indices[k]);
    if (before == before_.end()) continue;
    const Measured& then = before->second;
    if (has_grown(then, {membership_.shares[k], seconds[k]})) continue;
    const double work =
        (overhead_.samples() + membership_.shares[k]) / (overhead_.samples() + then.share);
    now_seconds += seconds[k];
    expected_seconds += work * then.seconds;
  }
  return now_seconds > 0.0 ? std::min(1.0, expected_seconds / now_seconds) : 1.0;
}

void BatchController::forget_old_bounds() {
  std::erase_if(learned_bounds_, [this](const auto& entry) {
    return entry.second.learned_at + kBoundIterations <= measured_;
  });
}

}  // namespace scavenger::elastic
