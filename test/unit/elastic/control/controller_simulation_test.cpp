// Whole jobs on a model cluster where everything happens at random: workers progress at their own
// speeds, checkpoints take their time, interrupts, losses and other sizes come at any instant.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "elastic/control/controller.h"
#include "runtime/base/random.h"
#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

ControllerPlan random_plan(RandomStream& random) {
  ControllerPlan plan;
  plan.shards = 1 + static_cast<std::uint32_t>(random.below(3));
  plan.membership = {1, 0, {}, 0, 0};
  for (std::uint64_t workers = 1 + random.below(4); workers > 0; --workers)
    plan.membership.shares.push_back(1 + static_cast<std::uint32_t>(random.below(9)));
  for (const std::uint32_t share : plan.membership.shares) plan.membership.batch_size += share;
  plan.samples_per_epoch = 20 + random.below(200);
  if (random.below(3) == 0) {
    plan.membership.first_iteration = random.below(40);
    plan.membership.first_position = plan.membership.first_iteration * 7;
    plan.resumes_checkpoint = true;
  }
  plan.stop.max_iterations = 1 + random.below(60);
  if (random.below(2) == 0) plan.stop.max_epochs = 0.1 + 5.0 * random.uniform();
  if (random.below(4) == 0) plan.stop.max_seconds = 0.1 + 20.0 * random.uniform();
  if (random.below(2) == 0) plan.stop.target = TargetConfig{Metric::kAccuracy, Split::kTest, 0.98};
  if (random.below(3) == 0)
    plan.stop.early_stopping = EarlyStoppingConfig{
        Metric::kAccuracy, 1 + static_cast<std::uint32_t>(random.below(3)), 0.01};
  if (random.below(2) == 0)
    plan.evaluation.every_iterations = 1 + random.below(10);
  else
    plan.evaluation.every_epochs = 0.01 + random.uniform();
  if (random.below(2) == 0)
    plan.checkpoint.every_iterations = 1 + random.below(10);
  else
    plan.checkpoint.every_epochs = 0.01 + random.uniform();
  if (random.below(4) == 0) plan.checkpoint.every_seconds = 3.0 * random.uniform();
  if (random.below(3) == 0) {
    plan.state_home = StateHome::kMemory;
    plan.shards = 1;
  }
  if (random.below(8) == 0) plan.stop.max_cost = 2.0 * random.uniform();
  if (random.below(3) == 0) plan.faults.on_worker_loss = OnWorkerLoss::kShrink;
  plan.faults.max_losses = static_cast<std::uint32_t>(random.below(60));
  plan.limits.start_seconds = plan.limits.iteration_seconds = 1e9;
  plan.limits.boundary_seconds = 1e9;
  return plan;
}

// One process. Shards count the iterations that they have stepped, workers those that they have.
struct ModelProcess {
  bool is_starting = true;
  bool has_machine = true;  // else it is still to be had
  bool is_joined = false;
  bool is_released = false;   // it is to end
  bool may_join = false;      // its news crosses the release
  bool halts = false;         // it was asked to, and has not answered
  std::uint32_t readies = 0;  // membership epoch that it gets ready for; 0: none
  bool has_weights = false;
  std::uint64_t iteration = 0;
  std::uint64_t contributed = 0;  // worker: iterations that the shards have its gradients of
  std::uint64_t reported = 0;
};

// The causes that led on, with the states that they led on from.
using Taken = std::set<std::pair<JobState, Cause>>;

// A whole world: it has more than 25 methods, one for each action of the controller and each
// mishap, and more than 20 fields.
class ModelCluster final {
 public:
  explicit ModelCluster(std::uint64_t seed)
      : random_(seed, "model cluster"),
        plan_(random_plan(random_)),
        losses_left_(random_.below(40)),
        controller_(plan_, 0.0),
        granted_(plan_.membership.first_iteration) {
    for (std::uint32_t i = 0; i < plan_.shards; ++i) processes_[{Role::kShard, i}] = {};
    for (std::uint32_t i = 0; i < plan_.membership.workers(); ++i)
      processes_[{Role::kWorker, i}] = {};
    if (plan_.resumes_checkpoint) checkpoint_ = plan_.membership.first_iteration;
    wanted_ = {plan_.membership.workers(), plan_.membership.batch_size, {}};
    sizes_ = {{plan_.membership.first_iteration, plan_.membership.first_position,
               plan_.membership.batch_size}};
  }

  void run() {
    for (int events = 0; !ended_; ++events) {
      REQUIRE(events < 50000);
      now_ += 0.05 * random_.uniform();
      if (random_.below(2) == 0) compute();
      feed(next_event());
    }
    CHECK(controller_.step(TimePassed{}, now_).empty());
  }

  const Taken& taken() const { return taken_; }

 private:
  const Membership& membership() const { return controller_.membership(); }
  ModelProcess& worker(std::uint32_t rank) {
    return processes_.at({Role::kWorker, controller_.ranks()[rank]});
  }
  // Where an iteration that was begun starts, whatever happens to the job.
  std::uint64_t position_of(std::uint64_t iteration) const {
    const auto next = std::ranges::upper_bound(sizes_, iteration, {}, &Size::first_iteration);
    const Size& size = next == sizes_.begin() ? sizes_.front() : *std::prev(next);
    return size.first_position + (iteration - size.first_iteration) * size.batch_size;
  }

  // What the processes do among themselves: gradients go out, shards step, weights come back.
  void compute() {
    if (!trains_) return;
    std::uint64_t brought = UINT64_MAX, stepped = UINT64_MAX;
    for (std::uint32_t rank = 0; rank < membership().workers(); ++rank) {
      ModelProcess& one = worker(rank);
      const bool may = one.is_joined && !one.halts && one.iteration < granted_;
      if (may && random_.below(2) == 0) one.contributed = one.iteration + 1;
      brought = std::min(brought, one.contributed);
    }
    for (auto& [name, process] : processes_) {
      if (name.role != Role::kShard) continue;
      // Until it has answered, a shard that is asked to halt may step once more.
      if (process.is_joined && process.iteration < brought && random_.below(2) == 0)
        ++process.iteration;
      stepped = std::min(stepped, process.is_joined ? process.iteration : 0);
    }
    for (std::uint32_t rank = 0; rank < membership().workers(); ++rank) {
      ModelProcess& one = worker(rank);
      if (one.is_joined && !one.halts && one.iteration < stepped && random_.below(2) == 0)
        ++one.iteration;
    }
  }

  // One of all that can happen now.
  ControllerEvent next_event() {
    if (random_.below(60) == 0 && losses_left_ > 0) {
      auto lost = std::next(processes_.begin(),
                            static_cast<std::ptrdiff_t>(random_.below(processes_.size())));
      if (lost->second.is_starting || lost->second.is_joined) return lose(lost->first);
    }
    if (random_.below(500) == 0) return Interrupted{};
    if (random_.below(100) == 0 && !ending_) return want_another_size();
    if (random_.below(100) == 0 && !ending_) {
      auto one = std::next(processes_.begin(),
                           static_cast<std::ptrdiff_t>(random_.below(processes_.size())));
      if (one->first.role == Role::kWorker) return ProcessLeaving{one->first, "was told to go"};
    }
    if (random_.below(200) == 0) return CheckpointWanted{};
    if (random_.below(50) == 0) return CostMetered{now_ / 10.0, 360.0};
    if (random_.below(paused_ ? 20 : 300) == 0) return PauseWanted{paused_ = !paused_};
    std::vector<ControllerEvent> possible = {TimePassed{}};
    for (const auto& [name, process] : processes_) {
      if (process.is_released) {
        possible.push_back(ProcessLeft{name});
        if (process.may_join) possible.push_back(ProcessJoined{name});
        continue;
      }
      if (process.is_starting && process.has_machine) possible.push_back(ProcessJoined{name});
      if (process.is_starting && !process.has_machine) possible.push_back(answer_for(name));
      if (process.readies > 0 && process.is_joined)
        possible.push_back(ProcessReady{name, process.readies});
      if (process.halts)
        possible.push_back(ProcessHalted{name, process.iteration, process.has_weights});
    }
    if (ending_) possible.push_back(AllProcessesEnded{});
    if (evaluating_) possible.push_back(EvaluationDone{random_.uniform(), random_.uniform()});
    if (finding_) possible.push_back(found());
    if (copying_ && !doomed_) possible.push_back(CheckpointSafe{});
    if (writing_ && doomed_) possible.push_back(CheckpointDone{false, true});
    if (writing_ && !copying_ && !doomed_)
      possible.push_back(CheckpointDone{random_.below(10) > 0, false});
    if (trains_)
      for (std::uint32_t rank = 0; rank < membership().workers(); ++rank)
        if (worker(rank).reported < worker(rank).iteration && !worker(rank).halts)
          possible.push_back(IterationsDone{rank, worker(rank).iteration});
    ControllerEvent event = possible[random_.below(possible.size())];
    std::visit([this](const auto& happened) { happens(happened); }, event);
    return event;
  }

  ControllerEvent answer_for(const ProcessName& name) {
    if (random_.below(4) > 0) return ProcessStarted{name};
    if (random_.below(20) == 0) return MachineRefused{name, "quota", std::nullopt};
    return MachineRefused{name, "capacity", random_.uniform()};
  }

  ControllerEvent want_another_size() {
    wanted_.workers = 1 + static_cast<std::uint32_t>(random_.below(5));
    wanted_.batch_size = random_.below(2) == 0
                             ? std::max(wanted_.workers, wanted_.batch_size)
                             : wanted_.workers + static_cast<std::uint32_t>(random_.below(40));
    wanted_.is_look = wanted_.batch_size % 3 == 0;
    return wanted_;
  }

  ControllerEvent lose(const ProcessName& name) {
    if (processes_.at(name).is_released) {
      processes_.erase(name);
      return ProcessLeft{name};
    }
    --losses_left_;
    ++losses_;
    const ModelProcess kept = processes_.at(name);
    processes_.at(name) = {.is_starting = false};
    const bool keeps_memory = name.role == Role::kShard && plan_.state_home == StateHome::kMemory;
    if (keeps_memory) {
      processes_.at(name).has_weights = kept.has_weights;
      processes_.at(name).iteration = kept.iteration;
    }
    const auto& ranks = controller_.ranks();
    const bool owes =
        name.role == Role::kShard || std::ranges::find(ranks, name.index) != ranks.end();
    if (writing_ && owes && (copying_ || (name.role == Role::kShard && random_.below(2) == 0)))
      doomed_ = true;
    if (name.role == Role::kShard && !keeps_memory) shard_lost_ = true;
    const bool with_machine = name.role == Role::kWorker && random_.below(2) == 0;
    return ProcessLost{name, "was lost", false, with_machine};
  }
  ControllerEvent found() const {
    if (!checkpoint_) return CheckpointFound{};
    return CheckpointFound{checkpoint_, position_of(*checkpoint_)};
  }

  void happens(const ProcessJoined& event) {
    ModelProcess& process = processes_.at(event.process);
    process.is_starting = process.may_join = false;
    process.is_joined = !process.is_released;
  }
  void happens(const ProcessStarted& event) { processes_.at(event.process).has_machine = true; }
  void happens(const MachineRefused& event) {
    ++losses_;
    processes_.at(event.process) = {.is_starting = false};
  }
  void happens(const ProcessReady& event) {
    processes_.at(event.process).readies = 0;
    processes_.at(event.process).has_weights = true;
  }
  void happens(const ProcessHalted& event) {
    ModelProcess& process = processes_.at(event.process);
    process.halts = false;
    process.readies = 0;  // it was interrupted
  }
  void happens(const IterationsDone& event) { worker(event.rank).reported = event.count; }
  void happens(const ProcessLeft& event) { processes_.erase(event.process); }
  void happens(const EvaluationDone&) { evaluating_ = false; }
  void happens(const CheckpointFound&) { finding_ = false; }
  void happens(const CheckpointSafe&) { copying_ = false; }
  void happens(const CheckpointDone& event) {
    writing_ = copying_ = doomed_ = false;
    if (event.written) checkpoint_ = checkpointing_;
    disk_failed_ |= !event.written && !event.by_loss;
  }
  template <typename Other>
  void happens(const Other&) {}

  void feed(const ControllerEvent& event) {
    JobState state = controller_.state();
    const auto actions = controller_.step(event, now_);
    for (const Transition* row : controller_.transitions()) {
      taken_.insert({state, row->cause});
      state = row->to;
    }
    for (const ControllerAction& action : actions) {
      INFO(line_of(action));
      REQUIRE_FALSE(ended_);
      std::visit([this](const auto& what) { carry_out(what); }, action);
    }
  }

  void require_that_all_wait() {
    REQUIRE_FALSE(ending_);
    REQUIRE(trains_);
    REQUIRE_FALSE(evaluating_);
    for (const auto& [name, process] : processes_) REQUIRE_FALSE(process.halts);
    for (std::uint32_t rank = 0; rank < membership().workers(); ++rank) {
      REQUIRE(worker(rank).is_joined);
      REQUIRE(worker(rank).iteration == granted_);
    }
    for (const auto& [name, process] : processes_)
      if (name.role == Role::kShard) REQUIRE(process.iteration == granted_);
  }

  void carry_out(const StartProcess& action) {
    const auto known = processes_.find(action.process);
    if (known != processes_.end())
      REQUIRE_FALSE(
          (known->second.is_joined || known->second.is_starting || known->second.is_released));
    REQUIRE_FALSE(ending_);
    processes_[action.process].is_starting = true;
    processes_[action.process].has_machine = action.process.role == Role::kShard;
  }
  void carry_out(const ReleaseProcess& action) {
    ModelProcess& process = processes_.at(action.process);
    REQUIRE(action.process.role == Role::kWorker);
    REQUIRE((process.is_joined || process.is_starting));
    const bool may_join = process.is_starting && process.has_machine;
    process = {.is_starting = false, .is_released = true, .may_join = may_join};
  }
  void carry_out(const KillProcess&) { FAIL("nobody hangs here"); }
  void carry_out(const HaltProcesses& action) {
    REQUIRE_FALSE(ending_);
    trains_ = evaluating_ = false;
    for (const ProcessName& name : action.processes) {
      REQUIRE(processes_.at(name).is_joined);
      REQUIRE_FALSE(processes_.at(name).halts);
      processes_.at(name).halts = true;
    }
  }
  void carry_out(const FindCheckpoint&) {
    REQUIRE_FALSE(writing_);
    finding_ = true;
  }
  void carry_out(const ConfigureShards& action) {
    // Nobody is left from the time before; epochs grow; samples follow each other.
    for (const auto& [name, process] : processes_) REQUIRE_FALSE(process.halts);
    REQUIRE((membership().epoch > epoch_ || epoch_ == 0));
    epoch_ = membership().epoch;
    const std::uint64_t iteration = membership().first_iteration;
    REQUIRE(membership().first_position == position_of(iteration));
    REQUIRE(membership().batch_size == wanted_.batch_size);
    REQUIRE(membership().workers() <= wanted_.workers);
    std::erase_if(sizes_, [&](const Size& size) { return size.first_iteration >= iteration; });
    sizes_.push_back({iteration, membership().first_position, membership().batch_size});
    // Nothing that was done is done again, unless a shard was lost.
    if (!shard_lost_ && action.source != StateSource::kPresent) REQUIRE_FALSE(has_trained_);
    if (action.source == StateSource::kCheckpoint) REQUIRE(iteration == checkpoint_);
    if (action.source == StateSource::kInitial) REQUIRE(iteration == 0);
    for (auto& [name, process] : processes_) {
      if (action.source != StateSource::kPresent)
        process.iteration = iteration;  // will be given it
      if (name.role != Role::kShard) continue;
      REQUIRE(process.is_joined);
      if (action.source != StateSource::kPresent) process.has_weights = false;
      if (action.source == StateSource::kPresent) {
        REQUIRE(process.has_weights);
        REQUIRE(process.iteration >= iteration);
        REQUIRE(process.iteration <= iteration + 1);  // it keeps one version more
      }
      process.iteration = iteration;
      process.readies = epoch_;
    }
  }
  void carry_out(const ConfigureWorkers& action) {
    REQUIRE_FALSE(controller_.ranks().empty());
    std::uint32_t samples = 0;
    for (const std::uint32_t share : membership().shares) samples += share;
    REQUIRE(samples == membership().batch_size);
    REQUIRE(std::ranges::count(membership().shares, 0U) == 0);
    for (std::uint32_t rank = 0; rank < membership().workers(); ++rank) {
      ModelProcess& one = worker(rank);
      REQUIRE(one.is_joined);
      // Its last weights are at most one iteration behind, or nobody asked it to keep any.
      if (action.source == StateSource::kPresent && one.has_weights)
        REQUIRE(one.iteration <= membership().first_iteration);
      one.iteration = one.contributed = one.reported = membership().first_iteration;
      one.readies = epoch_;
    }
    granted_ = membership().first_iteration;
    trains_ = true;
    shard_lost_ = false;
  }
  void carry_out(const GrantIterations& action) {
    REQUIRE_FALSE(ending_);
    for (const auto& [name, process] : processes_) REQUIRE_FALSE(process.halts);
    for (std::uint32_t rank = 0; rank < membership().workers(); ++rank)
      REQUIRE(worker(rank).readies == 0);
    REQUIRE_FALSE(evaluating_);
    REQUIRE(action.until > granted_);
    REQUIRE(action.until <= plan_.stop.max_iterations);
    if (plan_.evaluation.every_iterations > 0) {
      // From the last boundary that was evaluated, or the start, to the next one at most.
      const std::uint64_t every = plan_.evaluation.every_iterations;
      REQUIRE(action.until <= (controller_.iterations_done() / every + 1) * every);
    }
    granted_ = action.until;
    has_trained_ = true;
  }
  void carry_out(const EvaluateModel&) {
    require_that_all_wait();
    evaluating_ = true;
  }
  void carry_out(const TakeCheckpoint&) {
    require_that_all_wait();
    REQUIRE_FALSE(writing_);
    checkpointing_ = granted_;
    copying_ = writing_ = true;
  }
  void carry_out(const TellRecovery& action) {
    REQUIRE(action.iteration == membership().first_iteration);
    REQUIRE(action.seconds >= 0.0);
  }
  void carry_out(const EndProcesses&) {
    REQUIRE_FALSE(ending_);
    ending_ = true;
    trains_ = false;
    for (auto& [name, process] : processes_) process = {.is_starting = false};
  }
  void carry_out(const EndJob& action) {
    REQUIRE(ending_);
    ended_ = true;
    if (action.status == Status::kFailed) {
      CHECK((losses_ > 0 || disk_failed_));
      CHECK(action.reason.find("stands still") == std::string::npos);
      return;
    }
    if (action.status == Status::kMaxCost) return;  // it may have ended at once
    const bool needs_no_training =
        action.status == Status::kInterrupted || action.status == Status::kMaxTime;
    if (needs_no_training && !has_trained_) return;         // it may not have begun
    if (!has_trained_ && plan_.resumes_checkpoint) return;  // it was finished before
    CHECK_FALSE(writing_);
    CHECK(checkpoint_ == controller_.iterations_done());  // nothing that was done is lost
  }
  void carry_out(const Announce&) {}

  // B from an iteration on.
  struct Size {
    std::uint64_t first_iteration = 0;
    std::uint64_t first_position = 0;
    std::uint32_t batch_size = 0;
  };

  Taken taken_;
  RandomStream random_;
  const ControllerPlan plan_;
  ReshapeWanted wanted_;
  std::vector<Size> sizes_;
  bool paused_ = false;
  std::uint64_t losses_left_;
  std::uint64_t losses_ = 0;
  Controller controller_;
  double now_ = 0.0;
  std::map<ProcessName, ModelProcess> processes_;
  std::uint32_t epoch_ = 0;
  std::uint64_t granted_;
  std::optional<std::uint64_t> checkpoint_;     // the last that was written
  std::optional<std::uint64_t> checkpointing_;  // the last that was begun
  bool trains_ = false;
  bool has_trained_ = false;
  bool shard_lost_ = false;
  bool finding_ = false;
  bool evaluating_ = false;
  bool copying_ = false;
  bool writing_ = false;
  bool doomed_ = false;  // a process with a part of the checkpoint is lost
  bool disk_failed_ = false;
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace

TEST_CASE("whatever happens and whenever, a job keeps its invariants and ends") {
  Taken taken;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    INFO("seed " << seed);
    ModelCluster cluster(seed);
    cluster.run();
    taken.insert(cluster.taken().begin(), cluster.taken().end());
  }
  // Nobody hangs here, and there is always a shard; job_state_test.cpp has the rest.
  const Taken elsewhere{{JobState::kGathering, Cause::kWorkersConfigured},
                        {JobState::kTraining, Cause::kDiskBusy},
                        {JobState::kEvaluating, Cause::kStopAtOnce},
                        {JobState::kDraining, Cause::kStopAtOnce}};
  for (const Transition& row : job_transitions())
    for (const StateEntry& entry : job_states()) {
      const std::pair one{entry.word, row.cause};
      if (!row.from.contains(entry.word) || row.cause == Cause::kTooLate) continue;
      INFO(entry.name << ": " << row.cause_name);
      CHECK((taken.contains(one) || elsewhere.contains(one)));
    }
}
