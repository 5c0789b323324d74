// Whole jobs on a model cluster where everything happens at random: workers progress at their own
// speeds, checkpoints take their time, interrupts and losses come at any instant.
#include <algorithm>
#include <catch2/catch.hpp>

#include "elastic/control/controller.h"
#include "runtime/base/random.h"
#include "test/control/scripted_job.h"

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
  if (random.below(2) == 0)
    plan.evaluation.every_iterations = 1 + random.below(10);
  else
    plan.evaluation.every_epochs = 0.01 + random.uniform();
  if (random.below(2) == 0)
    plan.checkpoint.every_iterations = 1 + random.below(10);
  else
    plan.checkpoint.every_epochs = 0.01 + random.uniform();
  if (random.below(4) == 0) plan.checkpoint.every_seconds = 3.0 * random.uniform();
  plan.limits.start_seconds = plan.limits.iteration_seconds = 1e9;
  plan.limits.boundary_seconds = 1e9;
  return plan;
}

class ModelCluster final {
 public:
  explicit ModelCluster(std::uint64_t seed)
      : random_(seed, "model cluster"),
        plan_(random_plan(random_)),
        controller_(plan_, 0.0),
        done_(plan_.membership.workers(), plan_.membership.first_iteration),
        granted_(plan_.membership.first_iteration),
        checkpointed_(plan_.resumes_checkpoint ? granted_ : kNever) {
    for (std::uint32_t i = 0; i < plan_.shards; ++i) absent_.push_back({Role::kShard, i});
    for (std::uint32_t i = 0; i < done_.size(); ++i) absent_.push_back({Role::kWorker, i});
  }

  void run() {
    for (int events = 0; !ended_; ++events) {
      REQUIRE(events < 20000);
      now_ += 0.05 * random_.uniform();
      feed(next_event());
    }
    CHECK(controller_.step(TimePassed{}, now_).empty());
  }

 private:
  // One of all that can happen now.
  ControllerEvent next_event() {
    if (random_.below(1000) == 0) {
      lost_ = lost_ || !ending_;
      return ProcessLost{{Role::kWorker, 0}, "was lost"};
    }
    if (random_.below(500) == 0) return Interrupted{};
    std::vector<ControllerEvent> possible = {TimePassed{}};
    if (!absent_.empty()) possible.push_back(ProcessJoined{absent_.back()});
    if (!unready_.empty()) possible.push_back(ProcessReady{unready_.back()});
    if (ending_) possible.push_back(AllProcessesEnded{});
    if (evaluating_) possible.push_back(EvaluationDone{random_.uniform(), random_.uniform()});
    if (copying_) possible.push_back(CheckpointSafe{});
    if (writing_ && !copying_) possible.push_back(CheckpointDone{random_.below(10) > 0});
    for (std::uint32_t rank = 0; rank < done_.size(); ++rank)
      if (done_[rank] < granted_)
        possible.push_back(
            IterationsDone{rank, done_[rank] + 1 + random_.below(granted_ - done_[rank])});
    ControllerEvent event = possible[random_.below(possible.size())];
    std::visit([this](const auto& happened) { happens(happened); }, event);
    return event;
  }

  void happens(const ProcessJoined&) { absent_.pop_back(); }
  void happens(const ProcessReady&) { unready_.pop_back(); }
  void happens(const IterationsDone& event) { done_[event.rank] = event.count; }
  void happens(const EvaluationDone&) { evaluating_ = false; }
  void happens(const CheckpointSafe&) { copying_ = false; }
  void happens(const CheckpointDone&) { writing_ = false; }
  template <typename Other>
  void happens(const Other&) {}

  void feed(const ControllerEvent& event) {
    for (const ControllerAction& action : controller_.step(event, now_)) {
      INFO(line_of(action));
      REQUIRE_FALSE(ended_);
      std::visit([this](const auto& what) { carry_out(what); }, action);
    }
  }

  bool nobody_computes() const {
    return std::all_of(done_.begin(), done_.end(), [this](auto done) { return done == granted_; });
  }
  void require_training_stands_still() const {
    REQUIRE_FALSE(ending_);
    REQUIRE(nobody_computes());
    REQUIRE_FALSE(evaluating_);
    REQUIRE_FALSE(copying_);
  }

  void carry_out(const ConfigureShards&) {
    REQUIRE(absent_.empty());
    for (std::uint32_t i = 0; i < plan_.shards; ++i) unready_.push_back({Role::kShard, i});
  }
  void carry_out(const ConfigureWorkers&) {
    REQUIRE(unready_.empty());
    for (std::uint32_t i = 0; i < done_.size(); ++i) unready_.push_back({Role::kWorker, i});
  }
  void carry_out(const GrantIterations& action) {
    REQUIRE_FALSE(ending_);
    REQUIRE(unready_.empty());
    REQUIRE_FALSE(evaluating_);
    REQUIRE_FALSE(copying_);
    REQUIRE(action.until > granted_);
    REQUIRE(action.until <= plan_.stop.max_iterations);
    if (plan_.evaluation.every_iterations > 0) {
      // From the last boundary that was evaluated, or the start, to the next one at most.
      const std::uint64_t every = plan_.evaluation.every_iterations;
      REQUIRE(action.until <= (controller_.iterations_done() / every + 1) * every);
    }
    granted_ = action.until;
  }
  void carry_out(const EvaluateModel&) {
    require_training_stands_still();
    REQUIRE(evaluated_ != granted_);
    evaluated_ = granted_;
    evaluating_ = true;
  }
  void carry_out(const TakeCheckpoint&) {
    require_training_stands_still();
    REQUIRE_FALSE(writing_);
    REQUIRE(checkpointed_ != granted_);
    checkpointed_ = granted_;
    copying_ = writing_ = true;
  }
  void carry_out(const EndProcesses&) {
    REQUIRE_FALSE(ending_);
    ending_ = true;
  }
  void carry_out(const EndJob& action) {
    REQUIRE(ending_);
    ended_ = true;
    CHECK((action.status == Status::kFailed) == lost_);
    if (action.status == Status::kFailed || !absent_.empty() || !unready_.empty()) return;
    if (action.status == Status::kInterrupted && granted_ == plan_.membership.first_iteration)
      return;  // it may not have begun
    CHECK(nobody_computes());
    CHECK(checkpointed_ == granted_);  // nothing that was done is lost
    CHECK_FALSE(writing_);
    if (action.status != Status::kInterrupted) CHECK(evaluated_ == granted_);
  }
  void carry_out(const Announce&) {}

  RandomStream random_;
  const ControllerPlan plan_;
  Controller controller_;
  double now_ = 0.0;
  std::vector<ProcessName> absent_;
  std::vector<ProcessName> unready_;
  std::vector<std::uint64_t> done_;
  std::uint64_t granted_;
  std::uint64_t evaluated_ = kNever;
  std::uint64_t checkpointed_;
  bool evaluating_ = false;
  bool copying_ = false;
  bool writing_ = false;
  bool lost_ = false;
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace

TEST_CASE("whatever happens and whenever, a job keeps its invariants and ends") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    INFO("seed " << seed);
    ModelCluster(seed).run();
  }
}
