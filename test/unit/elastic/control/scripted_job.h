// A Controller with a cluster that does what the test says: every action becomes a line of text.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "elastic/control/controller.h"
#include "runtime/config/metric.h"

namespace scavenger::elastic {

using Lines = std::vector<std::string>;

inline std::string line_of(const ControllerAction& action) {
  return std::visit(
      [](const auto& what) -> std::string {
        using Action = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<Action, StartProcess>) return "start " + what.process.text();
        if constexpr (std::is_same_v<Action, ReleaseProcess>)
          return "release " + what.process.text();
        if constexpr (std::is_same_v<Action, KillProcess>) return "kill " + what.process.text();
        if constexpr (std::is_same_v<Action, HaltProcesses>)
          return "halt " + names_of(what.processes);
        if constexpr (std::is_same_v<Action, FindCheckpoint>) return "find checkpoint";
        if constexpr (std::is_same_v<Action, ConfigureShards>)
          return what.source == StateSource::kPresent      ? "configure shards"
                 : what.source == StateSource::kCheckpoint ? "restore shards"
                                                           : "initialise shards";
        if constexpr (std::is_same_v<Action, ConfigureWorkers>) return "configure workers";
        if constexpr (std::is_same_v<Action, TellRecovery>)
          return fmt::format("went on from {}", what.iteration);
        if constexpr (std::is_same_v<Action, GrantIterations>)
          return fmt::format("grant {}", what.until);
        if constexpr (std::is_same_v<Action, EvaluateModel>)
          return what.split == Split::kTrain ? "evaluate train" : "evaluate test";
        if constexpr (std::is_same_v<Action, TakeCheckpoint>)
          return what.is_best ? "checkpoint best" : "checkpoint";
        if constexpr (std::is_same_v<Action, EndProcesses>) return "end processes";
        if constexpr (std::is_same_v<Action, EndJob>)
          return fmt::format("end job {}: {}", name_of(what.status), what.reason);
        if constexpr (std::is_same_v<Action, Announce>) return "announce";
      },
      action);
}

// K = 2, S = 1, B = 10 of 100 samples: an epoch is 10 iterations.
inline ControllerPlan small_plan() {
  ControllerPlan plan;
  plan.membership = {1, 10, {5, 5}, 0, 0};
  plan.samples_per_epoch = 100;
  plan.evaluation.every_epochs = 0.0;
  plan.checkpoint.every_epochs = 0.0;
  return plan;
}

class ScriptedJob final {
 public:
  // `machines`: for so many of its workers there are some, and others are still asked for.
  explicit ScriptedJob(ControllerPlan plan, std::uint32_t machines = UINT32_MAX)
      : shards_(plan.shards),
        judged_by_accuracy_(judged_metric(plan.stop) == Metric::kAccuracy),
        done_(plan.membership.first_iteration),
        controller_(std::move(plan), 0.0) {
    for (std::uint32_t i = 0; i < shards_; ++i) feed(ProcessStarted{{Role::kShard, i}});
    for (std::uint32_t i = 0; i < std::min(machines, controller_.membership().workers()); ++i)
      feed(ProcessStarted{{Role::kWorker, i}});
  }

  // Machines are had at once.
  Lines feed(const ControllerEvent& event) {
    Lines lines;
    std::vector<ProcessName> started;
    for (const ControllerAction& action : controller_.step(event, now_)) {
      lines.push_back(line_of(action));
      if (const auto* grant = std::get_if<GrantIterations>(&action)) granted_ = grant->until;
      if (const auto* start = std::get_if<StartProcess>(&action)) started.push_back(start->process);
    }
    for (const ProcessName& process : started) controller_.step(ProcessStarted{process}, now_);
    return lines;
  }
  void pass(double seconds) { now_ += seconds; }

  Lines all_join() {
    Lines lines;
    for (std::uint32_t i = 0; i < shards_; ++i) lines = feed(ProcessJoined{{Role::kShard, i}});
    for (std::uint32_t i = 0; i < controller_.membership().workers(); ++i)
      lines = feed(ProcessJoined{{Role::kWorker, i}});
    return lines;
  }
  Lines shards_ready() {
    Lines lines;
    for (std::uint32_t i = 0; i < shards_; ++i) lines = ready({Role::kShard, i});
    return lines;
  }
  Lines workers_ready() {
    Lines lines;
    for (const std::uint32_t index : controller_.ranks()) lines = ready({Role::kWorker, index});
    return lines;
  }
  Lines start() {
    all_join();
    shards_ready();
    return workers_ready();
  }

  Lines ready(const ProcessName& process) {
    return feed(ProcessReady{process, controller_.membership().epoch});
  }
  Lines lose(const ProcessName& process) { return feed(ProcessLost{process, "was killed"}); }
  // All of these stand at the iterations that are done.
  Lines halted(const std::vector<ProcessName>& processes) {
    Lines lines;
    for (const ProcessName& process : processes) lines = feed(ProcessHalted{process, done_, true});
    return lines;
  }
  // After they were configured.
  Lines all_ready() {
    shards_ready();
    done_ = controller_.iterations_done();
    return workers_ready();
  }

  // All workers finish one iteration, a tenth of a second later.
  Lines iterate() {
    pass(0.1);
    ++done_;
    Lines lines;
    for (std::uint32_t rank = 0; rank < controller_.membership().workers(); ++rank) {
      Lines more = feed(IterationsDone{rank, done_});
      lines.insert(lines.end(), more.begin(), more.end());
    }
    return lines;
  }
  // Trains until the controller wants something else than more iterations: that.
  Lines train_to_boundary() {
    for (;;) {
      Lines lines = iterate();
      if (!lines.empty() && !lines.back().starts_with("grant")) return lines;
    }
  }
  Lines evaluated(double loss, double accuracy = 0.0) {
    return feed(EvaluationDone{judged_by_accuracy_ ? accuracy : loss, {}});
  }
  Lines copied() { return feed(CheckpointSafe{}); }
  Lines written() { return feed(CheckpointDone{true}); }
  Lines ended() { return feed(AllProcessesEnded{}); }

  std::uint64_t done() const { return done_; }
  std::uint64_t granted() const { return granted_; }
  Controller& controller() { return controller_; }

 private:
  std::uint32_t shards_;
  bool judged_by_accuracy_;
  std::uint64_t done_;
  std::uint64_t granted_ = 0;
  double now_ = 0.0;
  Controller controller_;
};

inline const ProcessName kShard0{Role::kShard, 0};
inline const ProcessName kWorker0{Role::kWorker, 0}, kWorker1{Role::kWorker, 1},
    kWorker2{Role::kWorker, 2};

// It has done three iterations.
inline ScriptedJob training_job(ControllerPlan plan = small_plan()) {
  ScriptedJob job(std::move(plan));
  job.start();
  for (int i = 0; i < 3; ++i) job.iterate();
  return job;
}

}  // namespace scavenger::elastic
