#include "test/simulation/spot_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "elastic/search/search_grid.h"
#include "runtime/data/sample_order.h"
#include "test/unit/elastic/decisions/ready_config.h"

namespace scavenger::elastic {
namespace {

constexpr std::uint64_t kSamples = 50000;
constexpr double kTarget = 0.9;

ControllerPlan plan_of(const JobConfig& config) {
  ControllerPlan plan;
  plan.shards = 2;  // beside the controller, where nobody takes them away
  plan.membership = {1, config.batch_size, split_batch(config.batch_size, config.cluster.workers),
                     0, 0};
  plan.samples_per_epoch = kSamples;
  plan.stop = config.stop;
  plan.evaluation = config.evaluation;
  plan.checkpoint = config.checkpoint;
  plan.limits = config.limits;
  plan.faults = config.faults;
  return plan;
}

SearchSetting setting_of(JobConfig config) {
  config.stop.target = TargetConfig{Metric::kAccuracy, Split::kTest, kTarget};
  config.evaluation.every_epochs = 0.5;
  SearchSetting setting{std::move(config), {}, {}, {}};
  if (setting.config.search.mode != SearchMode::kOff)
    setting.candidates = search_grid(setting.config.search);
  return setting;
}

}  // namespace

SpotCluster::SpotCluster(JobConfig config, Truth truth, double epochs, Market market,
                         std::uint64_t seed, const std::filesystem::path& decisions)
    : truth_(truth),
      epochs_(epochs),
      market_(market),
      setting_(setting_of(std::move(config))),
      random_(seed, "spot cluster"),
      plan_(plan_of(setting_.config)),
      controller_(plan_, 0.0) {
  if (decisions.empty()) return;
  decisions_.emplace(decisions);
  JobConfig recorded = setting_.config;
  recorded.data = ready_config().data;
  recorded.model = ready_config().model;
  decisions_->begin(to_json(recorded).dump(), plan_, 0.0);
}

JobOutcome SpotCluster::run() {
  fact::Start start;
  start.name = "spot";
  start.workers = setting_.config.cluster.workers;
  start.price_per_worker_hour = market_.price_per_hour;
  start.samples_per_epoch = kSamples;
  start.target = fact::Target{Metric::kAccuracy, Split::kTest, kTarget};
  log(start);
  log(fact::Model{1000, "a", {}});
  for (std::uint32_t i = 0; i < plan_.shards; ++i) carry_out(StartProcess{{Role::kShard, i}});
  for (std::uint32_t i = 0; i < membership().workers(); ++i)
    carry_out(StartProcess{{Role::kWorker, i}});
  tick();
  while (!ended_) {
    if (agenda_.empty() || now_ > 1e6) FAIL("the job does not end");
    const auto next = agenda_.begin();
    now_ = next->first;
    const std::function<void()> what = std::move(next->second);
    agenda_.erase(next);
    what();
  }
  outcome_.seconds = now_;
  outcome_.cost = summary_.numbers().bill.cost(now_);
  outcome_.charged_per_hour_after = summary_.numbers().bill.cost_per_hour();
  outcome_.iterations = done_;
  outcome_.workers = membership().workers();
  outcome_.batch_size = membership().batch_size;
  return outcome_;
}

void SpotCluster::after(double seconds, std::function<void()> what) {
  agenda_.emplace(now_ + seconds, std::move(what));
}

void SpotCluster::feed(const ControllerEvent& event) {
  const std::vector<ControllerAction> actions = controller_.step(event, now_);
  if (decisions_) decisions_->add(event, now_, actions);
  for (const ControllerAction& action : actions)
    std::visit([this](const auto& what) { carry_out(what); }, action);
}

void SpotCluster::log(RunEvent event) {
  events_.push_back(from_json_line(to_json_line({now_, std::move(event)}), "spot cluster"));
  summary_.apply(events_.back());
}

void SpotCluster::tick() {
  if (ended_) return;
  log_series();
  const MachineBill& bill = summary_.numbers().bill;
  feed(CostMetered{bill.cost(now_), bill.cost_per_hour()});
  feed(TimePassed{});
  after(1.0, [this] { tick(); });
}

// ---- The search. ----

void SpotCluster::log_series() {
  if (!series_ || series_->seconds.empty()) return;
  series_->count = static_cast<std::uint32_t>(series_->seconds.size());
  log(std::move(*series_));
  series_.reset();
  if (setting_.config.search.mode != SearchMode::kOff) continue_search();
}

void SpotCluster::continue_search() {
  for (RunEvent& event : elastic::continue_search(setting_, summary_.numbers())) {
    std::optional<fact::SearchStep> step;
    if (const auto* found = std::get_if<fact::SearchStep>(&event)) step = *found;
    log(std::move(event));
    if (step && (step->workers != controller_.wanted_workers() ||
                 step->batch_size != controller_.wanted_batch_size()))
      after(0.0, [this, step] {
        feed(ReshapeWanted{step->workers, step->batch_size, "search: " + step->reason});
      });
  }
}

// ---- Machines. ----

void SpotCluster::log_machine(std::uint32_t worker, std::uint64_t machine,
                              fact::MachineChange change) {
  fact::Machine event;
  event.name = fmt::format("m{}", machine);
  event.change = change;
  event.worker = worker;
  event.spot = market_.mean_life_seconds > 0.0;
  event.price_per_hour = market_.price_per_hour;
  log(event);
}

void SpotCluster::request_machine(std::uint32_t worker) {
  const std::uint64_t machine = ++requests_;
  workers_[worker] = {.machine = machine};
  if (random_.uniform() < market_.refusal_share) {
    after(5.0, [this, worker, machine] {
      if (workers_[worker].machine != machine) return;
      workers_[worker] = {};
      feed(MachineRefused{{Role::kWorker, worker}, "capacity", 10.0});
    });
    return;
  }
  after(20.0 + 40.0 * random_.uniform(),
        [this, worker, machine] { begin_worker(worker, machine); });
}

void SpotCluster::begin_worker(std::uint32_t worker, std::uint64_t machine) {
  Worker& one = workers_[worker];
  if (one.machine != machine) return;  // it was not needed any more
  one.has_machine = one.runs = true;
  ++outcome_.machines;
  log_machine(worker, machine, fact::MachineChange::kReady);
  feed(ProcessStarted{{Role::kWorker, worker}});
  after(2.0 + 6.0 * random_.uniform(), [this, worker, machine] {
    if (workers_[worker].machine == machine && !workers_[worker].is_released)
      feed(ProcessJoined{{Role::kWorker, worker}});
  });
  if (market_.mean_life_seconds <= 0.0) return;
  const double life = -market_.mean_life_seconds * std::log(1.0 - random_.uniform());
  const bool with_notice = random_.uniform() < market_.notice_share;
  if (with_notice)
    after(std::max(0.0, life - market_.notice_seconds), [this, worker, machine] {
      if (workers_[worker].machine != machine || workers_[worker].is_released) return;
      ++outcome_.notices;
      log_machine(worker, machine, fact::MachineChange::kNotice);
      feed(ProcessLeaving{{Role::kWorker, worker}, "its machine has notice"});
    });
  after(life, [this, worker, machine] { take_machine(worker, machine); });
}

bool SpotCluster::takes_part(std::uint32_t worker) const {
  return trains_ && std::ranges::count(controller_.ranks(), worker) > 0;
}

void SpotCluster::take_machine(std::uint32_t worker, std::uint64_t machine) {
  Worker& one = workers_[worker];
  if (one.machine != machine) return;  // it was returned
  log_machine(worker, machine, fact::MachineChange::kLost);
  const bool was_released = one.is_released;
  one = {};
  if (was_released) return feed(ProcessLeft{{Role::kWorker, worker}});
  if (takes_part(worker)) {
    ++outcome_.losses_in_flight;
    ++try_number_;  // the others wait for its gradient
    computes_ = false;
  }
  feed(ProcessLost{{Role::kWorker, worker}, "lost its machine", false, true});
}

void SpotCluster::return_machine(std::uint32_t worker) {
  const Worker one = std::exchange(workers_[worker], {});
  if (one.has_machine) log_machine(worker, one.machine, fact::MachineChange::kReleased);
}

// ---- Training. ----

void SpotCluster::begin_iteration() {
  if (!trains_ || computes_ || done_ >= granted_) return;
  computes_ = true;
  if (done_ < begun_) ++outcome_.iterations_begun_again;
  begun_ = std::max(begun_, done_ + 1);
  const double seconds = truth_.iteration_seconds(membership().workers(), membership().batch_size) *
                         std::exp(truth_.scatter * random_.normal());
  after(seconds, [this, mine = try_number_, seconds] { end_iteration(mine, seconds); });
}

void SpotCluster::end_iteration(std::uint64_t try_number, double seconds) {
  if (try_number != try_number_) return;  // somebody was lost, or all were halted
  computes_ = false;
  ++done_;
  position_ += membership().batch_size;
  const double batch_size = membership().batch_size;
  const double needed = epochs_ * (1.0 + batch_size / truth_.noise_scale) *
                        static_cast<double>(kSamples) / batch_size;
  progress_ += 1.0 / needed;
  if (!series_) {
    series_.emplace();
    series_->membership_epoch = membership().epoch;
    series_->first = done_ - 1;
    series_->learning_rate = 0.1;
  }
  append_iteration(truth_, membership().shares, seconds, random_, *series_);
  for (std::uint32_t rank = 0; rank < membership().workers() && trains_; ++rank)
    feed(IterationsDone{rank, done_});
  begin_iteration();
}

// ---- What the controller wants. ----

void SpotCluster::carry_out(const StartProcess& action) {
  if (action.process.role == Role::kWorker) return request_machine(action.process.index);
  after(0.5, [this, shard = action.process] {
    feed(ProcessStarted{shard});
    feed(ProcessJoined{shard});
  });
}

void SpotCluster::carry_out(const ReleaseProcess& action) {
  const std::uint32_t worker = action.process.index;
  const std::uint64_t machine = workers_[worker].machine;
  workers_[worker].is_released = true;
  after(0.2, [this, worker, machine] {
    if (workers_[worker].machine != machine) return;  // it was taken meanwhile
    return_machine(worker);
    feed(ProcessLeft{{Role::kWorker, worker}});
  });
}

void SpotCluster::carry_out(const KillProcess& action) {
  FAIL("nobody hangs here: " << action.process.text() << ' ' << action.why);
}

void SpotCluster::carry_out(const FindCheckpoint&) {
  FAIL("the shards are where nobody takes them away");
}

void SpotCluster::carry_out(const HaltProcesses& action) {
  log_series();
  trains_ = computes_ = false;
  ++try_number_;
  for (const ProcessName& process : action.processes)
    after(0.01, [this, process] {
      if (process.role == Role::kShard || workers_[process.index].runs)
        feed(ProcessHalted{process, done_, true});
    });
}

void SpotCluster::carry_out(const ConfigureShards&) {
  // Not one iteration that was done is done again, and not one sample is used twice or never.
  REQUIRE(membership().first_iteration == done_);
  REQUIRE(membership().first_position == position_);
  for (std::uint32_t i = 0; i < plan_.shards; ++i)
    after(0.02,
          [this, i, epoch = membership().epoch] { feed(ProcessReady{{Role::kShard, i}, epoch}); });
}

void SpotCluster::carry_out(const ConfigureWorkers& action) {
  log_series();
  const Membership& now = membership();
  log(fact::Membership{now.epoch, now.workers(), now.batch_size, controller_.ranks(), now.shares,
                       now.first_iteration, now.first_position, action.reason});
  granted_ = done_;
  trains_ = true;
  for (const std::uint32_t worker : controller_.ranks())
    after(0.05, [this, worker, epoch = now.epoch] {
      if (workers_[worker].runs) feed(ProcessReady{{Role::kWorker, worker}, epoch});
    });
}

void SpotCluster::carry_out(const GrantIterations& action) {
  granted_ = action.until;
  begin_iteration();
}

void SpotCluster::carry_out(const EvaluateModel&) {
  REQUIRE_FALSE(computes_);
  after(0.5, [this] { feed(EvaluationDone{progress_ >= 1.0 ? 0.95 : 0.5 * progress_, {}}); });
}

void SpotCluster::carry_out(const TakeCheckpoint&) {
  REQUIRE_FALSE(computes_);
  checkpointing_ = done_;
  after(0.02, [this] { feed(CheckpointSafe{}); });
  after(0.5, [this] {
    outcome_.last_checkpoint = checkpointing_;
    feed(CheckpointDone{true});
  });
}

void SpotCluster::carry_out(const TellRecovery& action) {
  std::vector<std::string> lost;
  for (const ProcessName& process : action.lost) lost.push_back(process.text());
  log(fact::Recovery{membership().epoch, lost, action.iteration, action.iterations_lost,
                     action.seconds});
}

void SpotCluster::carry_out(const EndProcesses&) {
  log_series();
  trains_ = computes_ = false;
  ++try_number_;
  after(1.0, [this] {
    for (const auto& [worker, state] : std::map(workers_)) return_machine(worker);
    feed(AllProcessesEnded{});
  });
}

void SpotCluster::carry_out(const EndJob& action) {
  outcome_.end = action;
  ended_ = true;
}

}  // namespace scavenger::elastic
