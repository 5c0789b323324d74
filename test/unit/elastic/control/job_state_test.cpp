#include "elastic/control/job_state.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/file.h"
#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

// The states that can be reached from here, itself included.
std::set<JobState> reachable_from(JobState first) {
  std::set<JobState> reached{first};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Transition& row : job_transitions())
      for (const JobState state : std::set(reached))
        if (row.from.contains(state)) reached.insert(row.to);
  }
  return reached;
}

std::string from_text(const Transition& row) {
  std::string text;
  for (const StateEntry& entry : job_states())
    if (row.from.contains(entry.word)) text += (text.empty() ? "" : ", ") + std::string(entry.name);
  return text;
}

std::string table_of_states() {
  std::string table = "| state | waits for |\n| --- | --- |\n";
  for (const StateEntry& entry : job_states())
    table += fmt::format("| {} | {} |\n", entry.name, entry.waits_for);
  return table;
}

std::string table_of_transitions() {
  std::string table = "| from | cause | condition | to | why |\n| --- | --- | --- | --- | --- |\n";
  for (const Transition& row : job_transitions())
    table += fmt::format("| {} | {} | {} | {} | {} |\n", from_text(row), row.cause_name,
                         row.condition, name_of(row.to), row.why);
  return table;
}

// A job that ends by early stopping, and has come to its first evaluation while the checkpoint of
// iteration 5 is still being written.
ScriptedJob evaluating_job() {
  ControllerPlan plan = small_plan();
  plan.evaluation.every_iterations = 10;
  plan.checkpoint.every_iterations = 5;
  plan.stop.early_stopping = EarlyStoppingConfig{};
  plan.stop.max_cost = 1.0;
  ScriptedJob job(std::move(plan));
  job.start();
  job.train_to_boundary();
  job.copied();
  job.train_to_boundary();
  return job;
}

struct Stage {
  JobState state;
  std::function<void(ScriptedJob&)> reach;
};

const Stage kJoined{JobState::kLoading, [](ScriptedJob& job) { job.all_join(); }};
const Stage kLoaded{JobState::kConnecting, [](ScriptedJob& job) {
                      job.all_join();
                      job.shards_ready();
                    }};
const Stage kStarted{JobState::kTraining, [](ScriptedJob& job) { job.start(); }};
const Stage kAtEvaluation{JobState::kEvaluating, [](ScriptedJob& job) {
                            job.start();
                            job.train_to_boundary();
                          }};
const Stage kEvaluated{JobState::kSnapshotting, [](ScriptedJob& job) {
                         kAtEvaluation.reach(job);
                         job.evaluated(0.5);
                       }};
// A worker lost a connection before: that alone can be missed there.
const Stage kCopied{JobState::kDraining, [](ScriptedJob& job) {
                      job.start();
                      job.feed(ProcessStuck{kWorker0, "lost its connection"});
                      job.train_to_boundary();
                      job.evaluated(0.5);
                      job.feed(Interrupted{});
                      job.copied();
                    }};

std::vector<Cause> causes_of(ScriptedJob& job) {
  std::vector<Cause> taken;
  for (const Transition* row : job.controller().transitions()) taken.push_back(row->cause);
  return taken;
}

}  // namespace

TEST_CASE("docs/design/architecture.md shows the controller's states and transitions as they are") {
  const std::string document = read_file(ARCHITECTURE_DOCUMENT_PATH);
  for (const std::string& table : {table_of_states(), table_of_transitions()}) {
    INFO("the document must have this table:\n" << table);
    CHECK(document.find("\n\n" + table + "\n") != std::string::npos);
  }
}

TEST_CASE("every state of a job can be reached, and from each one the end") {
  for (const StateEntry& entry : job_states()) {
    INFO(entry.name);
    CHECK(reachable_from(JobState::kGathering).contains(entry.word));
    CHECK(reachable_from(entry.word).contains(JobState::kEnded));
  }
  CHECK(reachable_from(JobState::kEnded).size() == 1);
}

TEST_CASE("a transition that the table does not have is a programming error in every build") {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    std::fclose(stderr);
    StateMachine().follow(Cause::kAllReady);  // a job that gathers is not connecting
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
}

TEST_CASE("a controller tells which transitions its last step has taken") {
  ScriptedJob job(small_plan());
  job.all_join();
  CHECK(causes_of(job) == std::vector{Cause::kShardsConfigured});
  job.shards_ready();
  CHECK(causes_of(job) == std::vector{Cause::kWorkersConfigured});
  job.workers_ready();
  CHECK(causes_of(job) == std::vector{Cause::kAllReady});
  job.iterate();
  CHECK(causes_of(job).empty());
  CHECK(job.controller().state() == JobState::kTraining);
}

// ---- Transitions that controller_simulation_test.cpp does not take. ----

TEST_CASE("what takes too long halts the job, wherever it is") {
  for (const Stage& stage : {kJoined, kLoaded, kStarted, kAtEvaluation, kEvaluated, kCopied}) {
    INFO(name_of(stage.state));
    ControllerPlan plan = small_plan();
    plan.evaluation.every_iterations = plan.checkpoint.every_iterations = 5;
    plan.limits.boundary_seconds = plan.limits.iteration_seconds = 20.0;
    ScriptedJob job(std::move(plan));
    stage.reach(job);
    REQUIRE(job.controller().state() == stage.state);
    job.pass(61.0);
    job.feed(TimePassed{});
    REQUIRE_FALSE(causes_of(job).empty());
    CHECK(causes_of(job).front() == Cause::kTooLate);
  }
}

TEST_CASE("money that has run out ends a job at once, wherever it is") {
  ScriptedJob job = evaluating_job();
  REQUIRE(job.controller().state() == JobState::kEvaluating);
  job.feed(CostMetered{1.0, 1.0});
  CHECK(causes_of(job) == std::vector{Cause::kStopAtOnce});

  ControllerPlan plan = small_plan();
  plan.evaluation.every_iterations = plan.checkpoint.every_iterations = 5;
  plan.stop.max_cost = 1.0;
  ScriptedJob draining(std::move(plan));
  kCopied.reach(draining);
  REQUIRE(draining.controller().state() == JobState::kDraining);
  draining.feed(CostMetered{1.0, 1.0});
  CHECK(causes_of(draining) == std::vector{Cause::kStopAtOnce});
}

TEST_CASE("without shards the workers are configured as soon as they are there") {
  ControllerPlan plan = small_plan();
  plan.shards = 0;
  plan.state_home = StateHome::kWorkers;
  ScriptedJob job(std::move(plan));
  job.all_join();
  CHECK(causes_of(job) == std::vector{Cause::kWorkersConfigured});
}

TEST_CASE("a best model waits for the disk also after a loss") {
  ScriptedJob job = evaluating_job();
  job.feed(EvaluationDone{0.5, 0.5});
  CHECK(causes_of(job) == std::vector{Cause::kDiskBusy});
  job.lose(kWorker1);
  job.halted({kShard0, kWorker0});
  REQUIRE(job.controller().state() == JobState::kLoading);
  job.feed(ProcessJoined{kWorker1});
  job.all_ready();
  CHECK(causes_of(job) == std::vector{Cause::kAllReady, Cause::kDiskBusy});
}

TEST_CASE("a disk that is free after a loss is not waited for again") {
  ScriptedJob job = evaluating_job();
  job.feed(EvaluationDone{0.5, 0.5});
  job.lose(kWorker1);
  job.halted({kShard0, kWorker0});
  job.written();
  job.feed(ProcessJoined{kWorker1});
  job.all_ready();
  REQUIRE(job.controller().state() == JobState::kSnapshotting);
  job.copied();
  CHECK(causes_of(job) == std::vector{Cause::kReshapeDue});  // the worker that joined meanwhile
}

// ---- Faults that the table has shown. ----

TEST_CASE("a connection that was lost before the end does not bring the job back") {
  ScriptedJob job = training_job();
  job.feed(ProcessStuck{kWorker0, "lost its connection"});
  job.feed(JobImpossible{"cannot go on"});
  REQUIRE(job.controller().state() == JobState::kEnding);
  job.pass(60.0);
  CHECK(job.feed(TimePassed{}).empty());
  CHECK(job.ended() == Lines{"end job failed: cannot go on"});
}
