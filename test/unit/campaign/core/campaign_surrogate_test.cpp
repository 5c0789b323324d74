// The rule "uncertainty": a campaign follows its surrogate's advice, and ends where it is enough.
#include <catch2/catch.hpp>
#include <set>

#include "test/unit/campaign/core/scripted_campaign.h"

namespace scavenger::campaign {
namespace {

CampaignConfig surrogate_config(std::uint32_t points = 12) {
  CampaignConfig config = small_config(points);
  config.selection = {2, SelectionRule::kUncertainty};
  config.surrogate.emplace();
  config.surrogate->first_results = 4;
  config.surrogate->retrain_results = 2;
  config.surrogate->target_rmse = 0.1;
  return config;
}

event::Advised advice(std::uint64_t results, double most_rmse, std::vector<PointIndex> points) {
  event::Advised advised;
  advised.results = results;
  advised.profiles = 2;
  advised.rmse = 0.5 * most_rmse;
  advised.most_rmse = most_rmse;
  advised.points = std::move(points);
  return advised;
}

// Simulates on one machine what the campaign wants; stops where it is told to.
class Simulator {
 public:
  explicit Simulator(const CampaignConfig& config, std::uint32_t slots = 1) : script_(config) {
    script_.begin();
    take(script_.bring(1, slots));
  }
  // Simulates the point that runs; returns it.
  PointIndex finish_one() {
    REQUIRE(script_.campaign().tasks().size() == 1);
    return finish_task(script_.campaign().tasks().begin()->first);
  }
  PointIndex finish_task(TaskId task) {
    const TaskRecord record = script_.campaign().tasks().at(task);
    script_.feed(event::SegmentBegan{task});
    script_.pass(1.0);
    script_.feed(event::SegmentEnded{task});
    script_.feed(event::SegmentKept{task, record.until});
    while (script_.campaign().tasks().contains(task)) {
      const std::uint64_t until = script_.campaign().tasks().at(task).until;
      script_.run_segment(task, 1.0, until);
    }
    take(script_.feed(event::Judged{record.point, "", ""}));
    return record.point;
  }
  void finish(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) order_.push_back(finish_one());
  }
  void tell(const CampaignEvent& event) { take(script_.feed(event)); }
  PointIndex running() const { return script_.campaign().tasks().begin()->second.point; }
  const Campaign& campaign() const { return script_.campaign(); }
  ScriptedCampaign& script() { return script_; }
  const std::vector<PointIndex>& order() const { return order_; }
  bool is_finished() const { return last_.ends_with("finish: finished"); }

 private:
  void take(const Lines& lines) {
    for (const std::string& line : lines) last_ = line;
  }
  ScriptedCampaign script_;
  std::vector<PointIndex> order_;
  std::string last_;
};

std::vector<PointIndex> untried(const Campaign& campaign) {
  std::vector<PointIndex> points;
  for (PointIndex point = 0; point < campaign.space().size(); ++point)
    if (!campaign.simulations().contains(point)) points.push_back(point);
  return points;
}

TEST_CASE("A surrogate is trained from results beside the holdout, when there are enough",
          "[campaign]") {
  Simulator simulator(surrogate_config());
  simulator.finish(5);  // 2 of them are the holdout
  CHECK(simulator.campaign().results_to_train_on() == 3);
  CHECK_FALSE(simulator.campaign().is_training_due());
  simulator.finish(1);
  CHECK(simulator.campaign().is_training_due());
  simulator.tell(advice(4, 1.0, {}));
  CHECK_FALSE(simulator.campaign().is_training_due());
  simulator.finish(1);
  CHECK_FALSE(simulator.campaign().is_training_due());
  simulator.finish(1);
  CHECK(simulator.campaign().is_training_due());
}

TEST_CASE("The first training waits for the whole holdout", "[campaign]") {
  Simulator simulator(surrogate_config(), 2);
  const TaskId slow = simulator.campaign().tasks().begin()->first;
  REQUIRE(simulator.campaign().simulations().at(simulator.running()).is_holdout);
  for (int i = 0; i < 6; ++i) simulator.finish_task(simulator.campaign().tasks().rbegin()->first);
  CHECK(simulator.campaign().results_to_train_on() == 5);
  CHECK_FALSE(simulator.campaign().is_training_due());
  simulator.finish_task(slow);
  CHECK(simulator.campaign().is_training_due());
}

TEST_CASE("Advised points come next, in their order, unless they were taken", "[campaign]") {
  Simulator simulator(surrogate_config());
  simulator.finish(6);
  const PointIndex running = simulator.running();
  const std::vector<PointIndex> left = untried(simulator.campaign());
  simulator.tell(advice(4, 1.0, {running, left[4], simulator.order()[0], left[1]}));
  simulator.finish(1);
  CHECK(simulator.running() == left[4]);
  simulator.finish(1);
  CHECK(simulator.running() == left[1]);
}

TEST_CASE("A point whose statistical error dominates is simulated for longer", "[campaign]") {
  CampaignConfig config = surrogate_config();
  config.stop.max_simulations = 11;
  Simulator simulator(config);
  simulator.finish(7);
  const PointIndex longer = simulator.order()[4];
  const PointIndex holdout = simulator.order()[0];
  event::Advised advised = advice(5, 1.0, {});
  advised.lengthen = {holdout, longer, longer};  // the second time it is not done yet
  simulator.tell(advised);
  simulator.finish(1);
  REQUIRE(simulator.running() == longer);
  const Campaign& campaign = simulator.campaign();
  const SimulationRecord& record = campaign.simulations().at(longer);
  CHECK(campaign.tasks().begin()->second.from == 1000);
  CHECK(campaign.results_to_train_on() == 6);  // what it has still counts
  CHECK(count_of(campaign, SimulationState::kDone) == 8);
  CHECK(count_of(campaign, SimulationState::kRunning) == 0);
  SECTION("which gives another result, from where it was") {
    simulator.finish(1);
    CHECK(record.steps() == 2000);
    CHECK(record.kept_multiple == 2);
    CHECK(campaign.results_to_train_on() == 7);
    CHECK(campaign.is_training_due());
    // It counts as two of the 11 that may be simulated: 2 more are.
    simulator.finish(2);
    CHECK(campaign.simulations().size() == 10);
    CHECK(campaign.tasks().empty());
  }
  SECTION("or, if it diverges then, leaves the result that it had") {
    const TaskId task = campaign.tasks().begin()->first;
    simulator.script().run_segment(task, 2.0, 1100);
    simulator.script().feed(event::SegmentBegan{task});
    simulator.script().pass(3.0);
    simulator.tell(event::TaskFailed{task, "diverged", "exit code 3", "NaN"});
    CHECK(record.state == SimulationState::kDone);
    CHECK(record.steps() == 1000);
    CHECK(record.kept_multiple == 1);
    CHECK(record.reason == "it could not be lengthened: exit code 3");
    CHECK(simulator.script().spent(Spent::kDiscarded).seconds == Approx(5.0));
    event::Advised again = advice(6, 1.0, {});
    again.lengthen = {longer};
    simulator.tell(again);
    simulator.finish(1);
    CHECK(simulator.running() != longer);
  }
  const auto again = replay_log(simulator.script().plan(), simulator.script().log(), "log");
  CHECK(again.campaign.results_to_train_on() == campaign.results_to_train_on());
}

TEST_CASE("After a failed training the points fill the space", "[campaign]") {
  Simulator advised(surrogate_config());
  Simulator plain(surrogate_config());
  for (Simulator* const simulator : {&advised, &plain}) simulator->finish(6);
  const std::vector<PointIndex> left = untried(advised.campaign());
  // An order that is not the one of the space.
  plain.finish(1);
  const PointIndex by_space = plain.running();
  const PointIndex other = by_space == left[0] ? left[1] : left[0];
  advised.tell(advice(4, 1.0, {other}));
  advised.tell(event::TrainingFailed{5, "no memory", 1.0});
  CHECK_FALSE(advised.campaign().is_training_due());
  advised.finish(1);
  CHECK(advised.running() == by_space);
}

TEST_CASE("The campaign ends where the error bound is within the target", "[campaign]") {
  Simulator simulator(surrogate_config());
  simulator.finish(6);
  simulator.tell(advice(4, 0.11, {}));
  CHECK_FALSE(simulator.campaign().reason().find("enough") != std::string::npos);
  SECTION("Two profiles of a holdout are needed to say so") {
    event::Advised advised = advice(6, 0.0, {});
    advised.profiles = 1;
    simulator.tell(advised);
    CHECK(simulator.campaign().status() == "running");
  }
  simulator.tell(advice(6, 0.1, {}));
  CHECK(simulator.campaign().status() == "finished");
  CHECK(simulator.campaign().reason().find("which is enough") != std::string::npos);
  CHECK(simulator.campaign().simulations().size() < 12);
}

TEST_CASE("At the end of the space the last training is waited for", "[campaign]") {
  for (const bool fails : {false, true}) {
    Simulator simulator(surrogate_config(8));
    simulator.finish(8);
    simulator.tell(event::MachineReleased{1});
    CHECK(simulator.campaign().status() == "running");
    REQUIRE(simulator.campaign().is_training_due());
    if (fails)
      simulator.tell(event::TrainingFailed{6, "no memory", 1.0});
    else
      simulator.tell(advice(6, 1.0, {}));
    CHECK(simulator.is_finished());
    CHECK(simulator.campaign().reason() == "all points of the space were simulated");
    // Its log leads to the same decisions.
    const auto again = replay_log(simulator.script().plan(), simulator.script().log(), "log");
    CHECK(again.campaign.is_ended());
    CHECK(again.campaign.trainings().size() == (fails ? 0 : 1));
  }
}

}  // namespace
}  // namespace scavenger::campaign
