// A job on a virtual clock, whose machines' times are known, and which does what the search for the
// machine type asks for.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "elastic/events/event_log.h"
#include "elastic/history/run_summary.h"
#include "elastic/vms/race/vm_race.h"
#include "elastic/vms/race/vm_race_replay.h"
#include "runtime/base/random.h"

namespace scavenger::elastic {

using fact::VmPhase;
using fact::VmStep;

// What is true of a type, and what it says of itself.
struct TrueType {
  std::string name;
  double cores = 1.0;
  double speed = 1.0;  // samples of the job per millisecond, one core of "base" does 1
  double price = 1.0;
  double count = 16.0;
  bool is_refused = false;
  std::uint32_t stock = 1000;   // machines that can be had at all
  double sync_seconds = 0.005;  // to the shards beside the controller
  double from_share = 1e9;  // larger shares take ten times as long: they do not fit into a cache
};

inline VmRaceSetting setting_of(const std::vector<TrueType>& truth, double max_epochs) {
  VmRaceSetting setting;
  for (const TrueType& one : truth) {
    VmType type;
    type.features.name = one.name;
    type.features.family = one.name;
    type.features.rate = one.cores;
    type.features.core_rate = 1.0;
    type.features.link = 1.0;
    type.price = one.price;
    type.max_count = one.count;
    setting.types.push_back(type);
  }
  setting.policy = Policy::kMinimumCost;
  setting.sharing = perfmodel::Sharing::kDynamic;
  setting.stop.max_epochs = max_epochs;
  return setting;
}

// Does what the race asks for, as the controller would. It has more than 25 methods, and
// more than 20 fields: each is one thing that can happen to a job.
class RaceJob final {
 public:
  RaceJob(std::vector<TrueType> truth, VmRaceSetting setting, std::uint32_t workers,
          std::optional<fact::Target> target = {})
      : truth_(std::move(truth)), setting_(std::move(setting)) {
    fact::Start start;
    start.samples_per_epoch = 100000;
    start.target = target;
    log(start);
    log(fact::Model{.parameter_count = 42, .architecture = "a1", .groups = {}});
    wanted_ = begin_race(setting_, workers, kFirstBatch);
    log(wanted_);
    // If there is none of the first type, the machines are of the next one.
    for (std::uint32_t worker = 0; worker < workers; ++worker)
      for (const std::string& type : first_types(setting_, workers))
        if (hire(worker, type)) break;
    make_membership();
  }

  // From now on, until it gets another machine: a lemon.
  void slow_down(std::uint32_t worker, double factor) { slowdowns_[worker] = factor; }
  // All machines, from now on.
  void change_pace(double factor) { pace_ = factor; }
  // The controller gives all workers of a type the same share.
  void share_alike() { shares_alike_ = true; }
  // So much of each gradient is noise: B_s.
  void set_noise(double scale) { noise_scale_ = scale; }
  // The test accuracy so far is 1 - 0.5 / sqrt(epochs): 0.9 after 25 epochs.
  void evaluate() {
    fact::Evaluation evaluation;
    evaluation.split = Split::kTest;
    evaluation.iteration = iteration_;
    evaluation.epoch = summary_.numbers().epochs();
    evaluation.loss = 1.0;
    evaluation.metrics[Metric::kAccuracy] = 1.0 - 0.5 / std::sqrt(evaluation.epoch);
    log(evaluation);
  }
  // Of the machines that come from now on.
  void change_price(const std::string& type, double price) {
    std::ranges::find(truth_, type, &TrueType::name)->price = price;
  }
  // Nobody gets one of these from now on.
  void refuse(const std::string& type) {
    std::ranges::find(truth_, type, &TrueType::name)->is_refused = true;
  }
  // How many iterations come between two decisions.
  void log_every(std::uint32_t iterations) { series_iterations_ = iterations; }
  // A worker is lost, and nobody has come in its place yet.
  void lose(std::uint32_t worker) {
    workers_.erase(worker);
    make_membership();
  }

  // Its machine is taken away, and one of the type that is not auditioned comes in its place. With
  // notice it leaves in order, and its machine is released.
  void take_away(std::uint32_t worker, const std::string& replacement, bool has_notice) {
    if (!has_notice) log_machine(worker, workers_.at(worker), fact::MachineChange::kLost);
    workers_.erase(worker);
    if (!has_notice) go_on();
    make_membership();
    hire(worker + 1, replacement);
    make_membership();
  }

  // A machine is taken away, and another one of the kind that is asked for comes in its place.
  void preempt(std::uint32_t worker) {
    const std::string type = workers_.at(worker);
    log_machine(worker, type, fact::MachineChange::kLost);
    workers_.erase(worker);
    go_on();
    if (!workers_.empty()) make_membership();
    if (!workers_.empty()) train();
    if (!workers_.contains(worker)) hire(worker, wanted_.machine_type);
    make_membership();
  }

  // The next machine of this type has notice before its worker joins, and one of the type that is
  // not auditioned comes in its place.
  void take_before_it_joins(const std::string& type, const std::string& replacement) {
    taken_ = {type, replacement};
  }

  // Until the race has settled, or so many series have passed.
  void run(int series = 400) {
    for (int i = 0; i < series && phase() != VmPhase::kSettled; ++i) train();
  }

  void train() {
    fact::Iterations logged;
    logged.membership_epoch = epoch_;
    logged.first = iteration_;
    logged.count = series_iterations_;
    logged.workers.resize(workers_.size());
    for (std::uint32_t n = 0; n < logged.count; ++n) {
      double slowest = 0.0;
      std::uint32_t rank = 0;
      for (const auto& [worker, type] : workers_) {
        const double misses = shares_[rank] > truth_of(type).from_share ? 10.0 : 1.0;
        const double seconds = pace_ * slowdown_of(worker) * misses *
                               (0.01 + 0.001 * shares_[rank] / speed_of(type)) *
                               std::exp(0.01 * random_.normal());
        fact::WorkerSeries& one = logged.workers[rank];
        one.rank = rank++;
        one.data_wait.push_back(0.0);
        one.forward.push_back(0.4 * seconds);
        one.backward.push_back(0.6 * seconds);
        one.sync_wait.push_back(0.005);
        // |G|^2 + tr(S) / b, with |G|^2 = 1.
        one.local_sqr_norm.push_back(1.0 + noise_scale_ / shares_[one.rank]);
        slowest = std::max(slowest, seconds + truth_of(type).sync_seconds);
      }
      const double seconds = slowest;
      logged.loss.push_back(1.0);
      logged.global_sqr_norm.push_back(1.0 + noise_scale_ / wanted_.batch_size);
      logged.seconds.push_back(seconds);
      time_ += seconds;
    }
    logged.learning_rate = 0.1;
    iteration_ += logged.count;
    position_ += std::uint64_t{logged.count} * wanted_.batch_size;
    log(logged);
    go_on();
  }

  VmPhase phase() const { return wanted_.phase; }
  const VmStep& last() const { return wanted_; }
  std::vector<VmStep> steps(VmPhase phase) const {
    std::vector<VmStep> found;
    for (const LoggedEvent& logged : events_)
      if (const auto* step = std::get_if<VmStep>(&logged.event); step && step->phase == phase)
        found.push_back(*step);
    return found;
  }
  std::string story() const {
    std::string text;
    for (const LoggedEvent& logged : events_)
      if (std::holds_alternative<VmStep>(logged.event)) text += to_json_line(logged) + "\n";
    return text;
  }
  const std::vector<LoggedEvent>& events() const { return events_; }
  std::multiset<std::string> machines() const {
    std::multiset<std::string> types;
    for (const auto& [worker, type] : workers_) types.insert(type);
    return types;
  }
  const RunNumbers& numbers() const { return summary_.numbers(); }
  double largest_slowdown() const { return largest_slowdown_; }

 private:
  static constexpr std::uint32_t kFirstBatch = 256;

  void go_on() {
    for (const RunEvent& event : continue_race(setting_, summary_.numbers())) {
      log(event);
      obey(std::get<VmStep>(event));
    }
  }

  const TrueType& truth_of(const std::string& type) const {
    return *std::ranges::find(truth_, type, &TrueType::name);
  }
  double speed_of(const std::string& type) const { return truth_of(type).speed; }
  double slowdown_of(std::uint32_t worker) const {
    const auto found = slowdowns_.find(worker);
    return found == slowdowns_.end() ? 1.0 : found->second;
  }
  // As dynamic batching finds it.
  double paid_speed(std::uint32_t worker) const {
    return speed_of(workers_.at(worker)) / (shares_alike_ ? 1.0 : slowdown_of(worker));
  }

  void log(RunEvent event) {
    events_.push_back({time_, std::move(event)});
    summary_.apply(events_.back());
  }

  void log_machine(std::uint32_t worker, const std::string& type, fact::MachineChange change) {
    fact::Machine machine;
    machine.name = "vm" + std::to_string(worker);
    machine.change = change;
    machine.worker = worker;
    machine.machine_type = type;
    machine.spot = wanted_.spot.value_or(setting_.spot);
    machine.price_per_hour = truth_of(type).price * (machine.spot ? 0.3 : 1.0);
    log(machine);
  }

  bool hire(std::uint32_t worker, const std::string& type) {
    log_machine(worker, type, fact::MachineChange::kRequested);
    time_ += 2.0;
    if (truth_of(type).is_refused || had_[type] >= truth_of(type).stock) {
      log_machine(worker, type, fact::MachineChange::kRefused);
      return false;
    }
    log_machine(worker, type, fact::MachineChange::kReady);
    ++had_[type];
    if (type == taken_.first) {
      taken_.first.clear();
      log_machine(worker, type, fact::MachineChange::kNotice);
      log_machine(worker, type, fact::MachineChange::kReleased);
      return hire(worker + 1, taken_.second);
    }
    workers_[worker] = type;
    slowdowns_.erase(worker);
    return true;
  }

  void make_membership() {
    fact::Membership membership;
    membership.membership_epoch = ++epoch_;
    membership.workers = static_cast<std::uint32_t>(workers_.size());
    membership.batch_size = wanted_.batch_size;
    membership.first_iteration = iteration_;
    membership.position = position_;
    double speeds = 0.0;
    std::uint32_t left = membership.batch_size;
    for (const auto& [worker, type] : workers_) {
      membership.indices.push_back(worker);
      if (pinned_.contains(worker))
        left -= pinned_[worker];
      else
        speeds += paid_speed(worker);
    }
    std::uint32_t last = 0;
    for (std::size_t rank = 0; rank < membership.indices.size(); ++rank) {
      const std::uint32_t worker = membership.indices[rank];
      const double share = left * paid_speed(worker) / speeds;
      membership.shares.push_back(pinned_.contains(worker) ? pinned_[worker]
                                                           : static_cast<std::uint32_t>(share));
      if (!pinned_.contains(worker)) last = static_cast<std::uint32_t>(rank);
    }
    std::uint32_t sum = 0;
    for (const std::uint32_t share : membership.shares) sum += share;
    membership.shares[last] += membership.batch_size - sum;
    shares_ = membership.shares;
    note_slowdown(membership);
    log(membership);
  }

  // Of a pinned worker against the slowest of the others.
  void note_slowdown(const fact::Membership& membership) {
    double pinned = 0.0, others = 0.0;
    for (std::size_t rank = 0; rank < membership.indices.size(); ++rank) {
      const std::uint32_t worker = membership.indices[rank];
      double& slowest = pinned_.contains(worker) ? pinned : others;
      slowest = std::max(slowest, 0.01 + 0.001 * shares_[rank] / speed_of(workers_[worker]));
    }
    if (others > 0.0) largest_slowdown_ = std::max(largest_slowdown_, pinned / others);
  }

  void obey(const VmStep& step) {
    wanted_ = step;
    pinned_.clear();
    if (step.share > 0) pinned_[step.worker] = step.share;
    for (const std::uint32_t worker : step.leaving)
      if (workers_.contains(worker)) {
        log_machine(worker, workers_[worker], fact::MachineChange::kReleased);
        workers_.erase(worker);
      }
    while (workers_.size() > step.workers) workers_.erase(std::prev(workers_.end()));
    std::size_t refused = 0;
    for (std::uint32_t worker = 0; workers_.size() + refused < step.workers; ++worker)
      if (!workers_.contains(worker) && !hire(worker, wanted_.machine_type)) ++refused;
    make_membership();
  }

  std::vector<TrueType> truth_;
  const VmRaceSetting setting_;
  RunSummary summary_;
  std::vector<LoggedEvent> events_;
  std::map<std::uint32_t, std::string> workers_;
  std::map<std::string, std::uint32_t> had_;  // machines, by type
  std::map<std::uint32_t, std::uint32_t> pinned_;
  std::vector<std::uint32_t> shares_;
  VmStep wanted_;
  std::pair<std::string, std::string> taken_;  // type, and what comes in its place
  std::map<std::uint32_t, double> slowdowns_;  // by worker
  double pace_ = 1.0;
  bool shares_alike_ = false;
  double noise_scale_ = 0.0;
  double time_ = 0.0;
  std::uint64_t iteration_ = 0;
  std::uint64_t position_ = 0;  // samples
  std::uint32_t epoch_ = 0;
  std::uint32_t series_iterations_ = 5;
  double largest_slowdown_ = 0.0;
  RandomStream random_{7, "race", {}};
};

// "good" does three times as much for its price as "base", though its cores promise as much.
inline const std::vector<TrueType> kTypes = {
    {.name = "base", .cores = 2.0, .speed = 2.0, .price = 1.0},
    {.name = "bad", .cores = 2.0, .speed = 0.7, .price = 1.05},
    {.name = "good", .cores = 4.0, .speed = 9.0, .price = 2.1}};

inline void check_replay(const RaceJob& job, const VmRaceSetting& setting) {
  AdvisorReplay replay = race_replay([&](const fact::Start&) { return setting; });
  for (const LoggedEvent& logged : job.events()) {
    const auto difference = replay.add(logged);
    INFO(difference.value_or(""));
    CHECK(!difference);
  }
  CHECK(replay.decisions() > 0);
}

}  // namespace scavenger::elastic
