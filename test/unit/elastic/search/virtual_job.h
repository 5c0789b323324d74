// A job on a virtual clock, whose seconds per iteration, gradient noise and epochs are known: it
// writes the events that a real one would, and does what the search asks for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elastic/history/run_summary.h"
#include "elastic/search/search.h"
#include "elastic/search/search_grid.h"
#include "perfmodel/plan/policy.h"
#include "runtime/base/random.h"

namespace scavenger::elastic {

struct Truth {
  double seconds_per_sample = 1e-3;  // of compute, on one worker
  double fixed_seconds = 2e-2;
  double seconds_per_worker = 1e-2;      // of synchronisation
  double noise_scale = 300.0;            // B_s, and the B_c of the epochs
  double scatter = 0.03;                 // of one iteration's seconds
  double slower = 1.0;                   // a neighbour comes
  std::vector<double> speeds;            // of worker k's machine; empty: all alike
  std::uint64_t half_batches_every = 2;  // iterations of one worker

  double iteration_seconds(double workers, double batch) const {
    double slowest = 1.0;  // shares are even
    if (!speeds.empty())
      slowest =
          *std::min_element(speeds.begin(), speeds.begin() + static_cast<std::ptrdiff_t>(workers));
    return slower * ((fixed_seconds + seconds_per_sample * batch / workers) / slowest +
                     (workers > 1.0 ? seconds_per_worker * workers : 0.0));
  }
  // Of a whole job, in units that all configurations share.
  double job_seconds(double workers, double batch) const {
    return (1.0 + batch / noise_scale) / batch * iteration_seconds(workers, batch);
  }
};

// What workers with these shares would measure in the next iteration of the series.
inline void append_iteration(const Truth& truth, const std::vector<std::uint32_t>& shares,
                             double seconds, RandomStream& stream, fact::Iterations& series) {
  const auto measured_norm = [&](double samples) {
    return (1.0 + truth.noise_scale / samples) * std::exp(0.05 * stream.normal());
  };
  const auto batch_size = std::accumulate(shares.begin(), shares.end(), std::uint32_t{0});
  const std::size_t place = series.seconds.size();
  series.seconds.push_back(seconds);
  series.loss.push_back(1.0);
  series.global_sqr_norm.push_back(measured_norm(batch_size));
  series.workers.resize(shares.size());
  for (std::uint32_t k = 0; k < shares.size(); ++k) {
    fact::WorkerSeries& worker = series.workers[k];
    worker.rank = k;
    for (auto* list : {&worker.data_wait, &worker.forward, &worker.backward, &worker.sync_wait})
      list->push_back(0.25 * seconds);
    worker.local_sqr_norm.push_back(measured_norm(shares[k]));
  }
  if (shares.size() > 1 || (series.first + place) % truth.half_batches_every != 0) return;
  const std::uint32_t half = batch_size / 2;
  series.half_batches.push_back({series.first + place,
                                 half,
                                 batch_size - half,
                                 0.001,
                                 {measured_norm(half)},
                                 {measured_norm(batch_size - half)},
                                 {measured_norm(batch_size)}});
}

inline JobConfig searching_config(SearchMode mode, Policy policy,
                                  std::vector<std::uint32_t> workers = {1, 2, 4, 8},
                                  std::vector<std::uint32_t> batch_sizes = {64, 128, 256, 512}) {
  JobConfig config;
  config.name = "virtual";
  config.search.mode = mode;
  config.search.policy = policy;
  config.search.workers = std::move(workers);
  config.search.batch_sizes = std::move(batch_sizes);
  config.cluster.workers = config.search.workers.front();
  config.batch_size = config.search.batch_sizes.front();
  config.cluster.price_per_worker_hour = 0.1;
  return config;
}

class VirtualJob final {
 public:
  VirtualJob(const JobConfig& config, Truth truth_of_job, std::uint64_t seed,
             std::vector<perfmodel::ModelRecord> stored = {}, perfmodel::MachinePool machines = {})
      : truth(std::move(truth_of_job)),
        setting_{config, search_grid(config.search), std::move(stored), std::move(machines)},
        stream_(seed, "virtual job"),
        workers_(config.cluster.workers),
        batch_size_(config.batch_size) {
    fact::Start start;
    start.name = config.name;
    start.workers = workers_;
    start.price_per_worker_hour = config.cluster.price_per_worker_hour;
    start.samples_per_epoch = 60000;
    start.target = fact::Target{Metric::kAccuracy, Split::kTest, 0.9};
    log(start);
    log(fact::Model{1000, "a", {}});
    log_membership("start");
  }

  // Until `seconds` have passed, in reports of a fifth of a second.
  void train(double seconds) {
    const double end = time_ + seconds;
    while (time_ < end) report();
  }
  // Until the search has settled or ended, but not for ever.
  const fact::SearchStep& settle(double most_seconds = 10000.0) {
    const double end = time_ + most_seconds;
    while (time_ < end && !is_settled()) report();
    return last_step();
  }

  bool is_settled() const {
    const auto& steps = summary_.numbers().search_steps;
    return steps.total > 0 && (last_step().phase == fact::SearchPhase::kSettled ||
                               last_step().phase == fact::SearchPhase::kEnded);
  }
  const fact::SearchStep& last_step() const {
    return summary_.numbers().search_steps.latest.back().fact;
  }
  const RunNumbers& numbers() const { return summary_.numbers(); }
  const SearchSetting& setting() const { return setting_; }
  // As search_replay() asks for it.
  auto setting_of() const {
    return [setting = setting_](const fact::Start&) { return setting; };
  }
  const std::vector<LoggedEvent>& events() const { return events_; }
  std::size_t measured() const { return measured_.size(); }
  void log(RunEvent event) {
    // As a reader sees it: what decides is what was written.
    events_.push_back(from_json_line(to_json_line({time_, std::move(event)}), "virtual job"));
    summary_.apply(events_.back());
  }

  Truth truth;

 private:
  static constexpr double kMoveSeconds = 0.03;

  void log_membership(const std::string& reason) {
    fact::Membership membership;
    membership.membership_epoch = ++epoch_;
    membership.workers = workers_;
    membership.batch_size = batch_size_;
    for (std::uint32_t k = 0; k < workers_; ++k) {
      membership.indices.push_back(k);
      membership.shares.push_back(batch_size_ / workers_ + (k < batch_size_ % workers_ ? 1 : 0));
    }
    shares_ = membership.shares;
    membership.first_iteration = iteration_;
    membership.position = position_;
    membership.reason = reason;
    log(membership);
    measured_[{workers_, batch_size_}] = true;
  }

  void report() {
    fact::Iterations series;
    series.membership_epoch = epoch_;
    series.first = iteration_;
    series.learning_rate = 0.1;
    const double expected = truth.iteration_seconds(workers_, batch_size_);
    series.count = static_cast<std::uint32_t>(std::max(1.0, 0.2 / expected));
    for (std::uint32_t i = 0; i < series.count; ++i) {
      const double seconds = expected * std::exp(truth.scatter * stream_.normal());
      time_ += seconds;
      append_iteration(truth, shares_, seconds, stream_, series);
    }
    iteration_ += series.count;
    position_ += std::uint64_t{series.count} * batch_size_;
    log(series);
    const bool has_moved = std::exchange(moves_, false);
    for (RunEvent& event : continue_search(setting_, summary_.numbers())) {
      std::optional<fact::SearchStep> step;
      if (const auto* found = std::get_if<fact::SearchStep>(&event)) step = *found;
      log(std::move(event));
      if (step) go_to(*step);
    }
    if (has_moved)
      log(fact::Recovery{
          series.membership_epoch, {}, series.first, 0, kMoveSeconds + series.seconds[0]});
  }

  void go_to(const fact::SearchStep& step) {
    if (step.workers == workers_ && step.batch_size == batch_size_) return;
    workers_ = step.workers;
    batch_size_ = step.batch_size;
    log_membership("search: " + step.reason);
    time_ += kMoveSeconds;
    moves_ = true;
  }

  const SearchSetting setting_;
  RandomStream stream_;
  RunSummary summary_;
  std::vector<LoggedEvent> events_;
  double time_ = 0.0;
  bool moves_ = false;  // until the first iteration of a membership has ended
  std::uint32_t epoch_ = 0;
  std::uint32_t workers_;
  std::uint32_t batch_size_;
  std::vector<std::uint32_t> shares_;
  std::uint64_t iteration_ = 0;
  std::uint64_t position_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> measured_;
};

}  // namespace scavenger::elastic
