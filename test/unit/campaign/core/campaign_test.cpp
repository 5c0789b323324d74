#include "campaign/core/campaign.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "test/unit/campaign/core/scripted_campaign.h"

namespace scavenger::campaign {
namespace {

SimulationState state_of(const ScriptedCampaign& script, PointIndex point) {
  return script.campaign().simulations().at(point).state;
}

PointIndex judged_point(const ScriptedCampaign& script) {
  for (const CampaignAction& decided : script.last())
    if (const auto* judge = std::get_if<action::Judge>(&decided)) return judge->point;
  FAIL("nothing is judged");
  return 0;
}

TEST_CASE("A campaign of one simulation goes from the machine to the end", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  CHECK(script.begin() == Lines{"request 1"});
  // 1000/64 steps, to measure its speed.
  CHECK(script.bring(1) == Lines{"start 1 on 1: kept 0, 0 to 15"});
  // 15 steps in 1.5 s are 10 a second, and the interval is 10 s.
  CHECK(script.run_segment(1, 1.5, 15) == Lines{"run 1: 15 to 115"});
  CHECK(script.run_segment(1, 1.0, 115) == Lines{"run 1: 115 to 1000"});
  CHECK(script.run_segment(1, 10.0, 1000) == Lines{"end 1", "judge", "release 1"});
  const PointIndex point = judged_point(script);
  CHECK(script.feed(event::MachineReleased{1}).empty());
  CHECK(script.feed(event::Judged{point, "", ""}) == Lines{"finish: finished"});
  CHECK(state_of(script, point) == SimulationState::kDone);
  CHECK(script.campaign().is_ended());
}

TEST_CASE("A lost machine costs the segment that ran there, and nothing more", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.run_segment(1, 1.5, 15);
  script.feed(event::SegmentBegan{1});
  script.pass(7.0);
  CHECK(script.feed(event::MachineLost{1, "was preempted", true}) == Lines{"request 2"});
  CHECK(script.spent(Spent::kRedone).seconds == Approx(7.0));
  CHECK(script.spent(Spent::kUseful).seconds == Approx(1.5));
  CHECK(script.bring(2) == Lines{"start 2 on 2: kept 1, 15 to 115"});
  CHECK(script.campaign().losses() == 1);
}

TEST_CASE("News of a task that was ended change nothing", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.feed(event::MachineLost{1, "was preempted", true});
  script.bring(2);
  CHECK(script.feed(event::SegmentBegan{1}).empty());
  CHECK(script.feed(event::SegmentEnded{1}).empty());
  CHECK(script.feed(event::SegmentKept{1, 1000}).empty());
  CHECK(script.feed(event::TaskFailed{1, "diverged", "", ""}).empty());
  CHECK(state_of(script, 0) == SimulationState::kRunning);
}

TEST_CASE("After a notice nothing is computed again", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.run_segment(1, 1.5, 15);
  script.feed(event::SegmentBegan{1});
  script.pass(3.0);
  CHECK(script.feed(event::MachineNotice{1, 30.0}) == Lines{"stop 1", "request 2"});
  script.feed(event::SegmentEnded{1});
  CHECK(script.feed(event::SegmentKept{1, 45}) == Lines{"end 1", "release 1"});
  CHECK(script.bring(2) == Lines{"start 2 on 2: kept 2, 45 to 145"});
  CHECK(script.spent(Spent::kRedone).seconds == 0.0);
}

TEST_CASE("A simulation that does not stop in time is killed", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.feed(event::SegmentBegan{1});
  script.feed(event::MachineNotice{1, 30.0});
  REQUIRE(script.campaign().wake_seconds());
  CHECK(*script.campaign().wake_seconds() == Approx(4.0));
  script.pass(4.0);
  CHECK(script.feed(event::Tick{}) == Lines{"end 1", "release 1"});
  CHECK(script.spent(Spent::kRedone).seconds == Approx(4.0));
}

TEST_CASE("A machine takes as many simulations as it has cores for", "[campaign]") {
  CampaignConfig config = small_config(5);
  config.simulation.cores = 2;
  ScriptedCampaign script(config);
  script.begin();
  CHECK(script.bring(1, 5).size() == 2);
}

TEST_CASE("No more machines are asked for than there are simulations for", "[campaign]") {
  CampaignConfig config = small_config(2);
  config.machines.count = 10;
  ScriptedCampaign script(config);
  CHECK(script.begin() == Lines{"request 1", "request 2"});
}

TEST_CASE("A failed simulation is tried again on another machine, and then given up",
          "[campaign]") {
  CampaignConfig config = small_config(2);
  config.machines.count = 2;
  ScriptedCampaign script(config);
  script.begin();
  script.bring(1);
  script.bring(2);
  // Task 1 on machine 1 fails: machine 2 is busy, and machine 1 is not tried again.
  CHECK(script.feed(event::TaskFailed{1, "failed", "exit code 1", "oops"}) == Lines{"end 1"});
  CHECK(script.feed(event::TaskFailed{2, "stopped", "", ""}) ==
        Lines{"end 2", "start 3 on 1: kept 0, 0 to 15", "start 4 on 2: kept 0, 0 to 15"});
  const PointIndex failing = script.campaign().tasks().at(4).point;
  script.feed(event::TaskFailed{4, "failed", "exit code 1", "oops"});
  const SimulationRecord& record = script.campaign().simulations().at(failing);
  CHECK(record.state == SimulationState::kFailed);
  CHECK(record.reason == "exit code 1");
  CHECK(record.log_tail == "oops");
}

TEST_CASE("Only what was asked to stop may end without a checkpoint uncounted", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.feed(event::SegmentBegan{1});
  CHECK(script.feed(event::MachineNotice{1, 30.0}) == Lines{"stop 1", "request 2"});
  script.feed(event::TaskFailed{1, "stopped", "", ""});
  CHECK(script.campaign().simulations().at(0).failures == 0);
  script.bring(2);
  script.feed(event::TaskFailed{2, "stopped", "nobody asked", ""});
  script.feed(event::TaskFailed{3, "something new", "what is this", ""});
  CHECK(state_of(script, 0) == SimulationState::kFailed);
  CHECK(script.campaign().simulations().at(0).reason == "what is this");
}

TEST_CASE("A simulation that breaks one machine after the other is given up", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.feed(event::SegmentBegan{1});
  script.feed(event::HostLost{1, "out of memory"});
  script.pass(3.0);
  script.feed(event::MachineReleased{1});
  script.bring(2);
  SECTION("without a segment in between") {
    script.feed(event::SegmentBegan{2});
    script.feed(event::MachineLost{2, "out of memory", false});
    CHECK(state_of(script, 0) == SimulationState::kFailed);
    CHECK_THAT(script.campaign().simulations().at(0).reason, Catch::Contains("2 machines broke"));
  }
  SECTION("but not if it has progressed, or the machine was taken") {
    script.run_segment(2, 1.5, 15);
    script.feed(event::SegmentBegan{2});
    script.feed(event::MachineLost{2, "out of memory", false});
    CHECK(state_of(script, 0) == SimulationState::kWaiting);
    script.bring(3);
    script.feed(event::SegmentBegan{3});
    script.feed(event::MachineLost{3, "preempted", true});
    CHECK(state_of(script, 0) == SimulationState::kWaiting);
  }
}

TEST_CASE("What diverged is not tried again, and its time was for nothing", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.run_segment(1, 1.5, 15);
  script.feed(event::SegmentBegan{1});
  script.pass(2.0);
  CHECK(script.feed(event::TaskFailed{1, "diverged", "exit code 3", "NaN"}) ==
        Lines{"end 1", "release 1"});
  CHECK(state_of(script, 0) == SimulationState::kDiverged);
  CHECK(script.spent(Spent::kDiscarded).seconds == Approx(3.5));
  CHECK(script.spent(Spent::kUseful).seconds == Approx(0.0).margin(1e-12));
}

TEST_CASE("A result that is not valid counts as diverged", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.run_segment(1, 1.5, 15);
  script.run_segment(1, 1.0, 115);
  script.run_segment(1, 10.0, 1000);
  script.feed(event::MachineReleased{1});
  CHECK(script.feed(event::Judged{0, "temperature is 7", ""}) == Lines{"finish: finished"});
  CHECK(state_of(script, 0) == SimulationState::kDiverged);
}

TEST_CASE("A simulation that computes for too long fails", "[campaign]") {
  CampaignConfig config = small_config(1);
  config.simulation.limit_hours = 0.01;  // 36 s
  config.simulation.tries = 1;
  ScriptedCampaign script(config);
  script.begin();
  script.bring(1);
  script.run_segment(1, 30.0, 15);
  script.feed(event::SegmentBegan{1});
  CHECK(*script.campaign().wake_seconds() - script.seconds() == Approx(6.0));
  script.pass(6.1);
  script.feed(event::Tick{});
  CHECK(state_of(script, 0) == SimulationState::kFailed);
}

TEST_CASE("Too many failures in a row end the campaign", "[campaign]") {
  CampaignConfig config = small_config(50);
  config.simulation.tries = 1;
  ScriptedCampaign script(config);
  script.begin();
  script.bring(1);
  Lines lines;
  for (TaskId task = 1; task <= 5; ++task)
    lines = script.feed(event::TaskFailed{task, "failed", "exit code 1", ""});
  CHECK(lines == Lines{"end 5", "release 1"});
  CHECK(script.feed(event::MachineReleased{1}) == Lines{"finish: failed"});
}

TEST_CASE("A damaged checkpoint is not counted, and what it held is computed again", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.run_segment(1, 1.5, 15);
  script.run_segment(1, 10.0, 115);
  script.feed(event::MachineLost{1, "was preempted", true});
  CHECK(script.bring(2) == Lines{"start 2 on 2: kept 2, 115 to 215"});
  CHECK(script.feed(event::CheckpointDamaged{2, 1}) == Lines{"start 2 on 2: kept 1, 15 to 115"});
  CHECK(script.spent(Spent::kRedone).seconds == Approx(10.0));
  CHECK(script.spent(Spent::kUseful).seconds == Approx(1.5));
}

TEST_CASE("Checkpoints that a simulation takes by itself count", "[campaign]") {
  CampaignConfig config = small_config(1);
  config.simulation.checkpoint.mode = CheckpointMode::kSelf;
  ScriptedCampaign script(config);
  script.begin();
  CHECK(script.bring(1) == Lines{"start 1 on 1: kept 0, 0 to 1000"});
  script.feed(event::SegmentBegan{1});
  script.pass(20.0);
  CHECK(script.feed(event::CheckpointKept{1}).empty());
  script.pass(5.0);
  script.feed(event::MachineLost{1, "was preempted", true});
  CHECK(script.spent(Spent::kUseful).seconds == Approx(20.0));
  CHECK(script.spent(Spent::kRedone).seconds == Approx(5.0));
  CHECK(script.bring(2) == Lines{"start 2 on 2: kept 1, 0 to 1000"});
  CHECK(script.run_segment(2, 10.0, 1000) == Lines{"end 2", "judge", "release 2"});
}

TEST_CASE("It ends before it costs more than max_cost, with time to stop in order", "[campaign]") {
  CampaignConfig config = small_config(1);
  config.stop.max_cost = 1.0;
  config.simulation.steps = 1'000'000'000;
  ScriptedCampaign script(config, {.per_hour = 36.0, .source = {}});
  script.begin();
  script.bring(1, 1, 36.0);  // a cent a second: 100 s
  script.feed(event::SegmentBegan{1});
  // 4 s of grace, 2 s for the return.
  REQUIRE(script.campaign().wake_seconds());
  CHECK(*script.campaign().wake_seconds() == Approx(94.0));
  script.pass(94.0);
  CHECK(script.feed(event::Tick{}) == Lines{"stop 1"});
  CHECK(*script.campaign().wake_seconds() == Approx(98.0));
  script.pass(4.0);
  CHECK(script.feed(event::Tick{}) == Lines{"end 1", "release 1"});
  CHECK(script.feed(event::MachineReleased{1}) == Lines{"finish: max_cost"});
  CHECK(script.campaign().ledger().dollars(script.seconds()) <= 1.0);
}

TEST_CASE("No machine is asked for that the limit of cost does not allow", "[campaign]") {
  CampaignConfig config = small_config(1);
  config.stop.max_cost = 0.01;
  ScriptedCampaign script(config, {.per_hour = 36.0, .minimum_seconds = 60.0, .source = {}});
  CHECK(script.begin() == Lines{"finish: max_cost"});
}

TEST_CASE("max_simulations ends it, and a higher one lets it go on", "[campaign]") {
  CampaignConfig config = small_config(3);
  config.stop.max_simulations = 1;
  ScriptedCampaign script(config);
  script.begin();
  script.bring(1);
  script.feed(event::TaskFailed{1, "diverged", "", ""});
  CHECK(script.feed(event::MachineReleased{1}) == Lines{"finish: finished"});
  CHECK(script.feed(event::Started{2, 0.0}) == Lines{"request 2"});
}

TEST_CASE("A later process may use more machines, and try again what has failed", "[campaign]") {
  CampaignConfig config = small_config(2);
  config.simulation.tries = 1;
  ScriptedCampaign script(config);
  script.begin();
  script.bring(1);
  script.run_segment(1, 1.5, 15);
  const double before = script.spent(Spent::kUseful).seconds;
  script.feed(event::TaskFailed{1, "failed", "no licence", ""});
  CHECK(script.spent(Spent::kUseful).seconds < before);
  script.feed(event::TaskFailed{2, "diverged", "", ""});
  CHECK(script.feed(event::MachineReleased{1}) == Lines{"finish: finished"});
  CHECK(script.begin() == Lines{"finish: finished"});
  CHECK(script.feed(event::Started{.most_machines = 2, .tries_failed_again = true}) ==
        Lines{"request 2"});  // there is one simulation only
  CHECK(script.spent(Spent::kUseful).seconds == Approx(before));
  const std::string started = script.bring(2).front();
  CHECK(started.starts_with("start 3 on 2: kept 1, 15 to "));
  script.feed(event::TaskFailed{3, "failed", "no licence", ""});
  CHECK(script.feed(event::MachineReleased{2}) == Lines{"finish: finished"});
}

TEST_CASE("The first wish to stop is orderly, the second is obeyed at once", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.feed(event::SegmentBegan{1});
  CHECK(script.feed(event::StopAsked{"Ctrl-C", false, false}) == Lines{"stop 1"});
  CHECK(script.feed(event::StopAsked{"Ctrl-C", true, false}) == Lines{"end 1", "release 1"});
  CHECK(script.feed(event::MachineReleased{1}) == Lines{"finish: stopped"});
}

TEST_CASE("A process that comes after a killed one goes on with what was kept", "[campaign]") {
  ScriptedCampaign script(small_config(2));
  script.begin();
  script.bring(1);
  script.run_segment(1, 1.5, 15);
  script.feed(event::SegmentBegan{1});
  script.pass(5.0);
  CHECK(script.begin() == Lines{"request 2"});
  CHECK(script.spent(Spent::kRedone).seconds == Approx(5.0));
  CHECK(script.bring(2) == Lines{"start 2 on 2: kept 1, 15 to 115"});
}

TEST_CASE("A result that was not judged when the process was killed is judged again",
          "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  script.bring(1);
  script.run_segment(1, 1.5, 15);
  script.run_segment(1, 1.0, 115);
  script.run_segment(1, 10.0, 1000);
  CHECK(script.begin() == Lines{"judge"});
  CHECK(script.feed(event::Judged{0, "", ""}) == Lines{"finish: finished"});
}

TEST_CASE("Hosts that never start end the campaign", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  Lines lines;
  for (MachineId id = 1; id <= 5; ++id) {
    event::MachineReady ready;
    ready.machine = id;
    script.feed(ready);
    script.feed(event::HostLost{id, "exit code 127"});
    lines = script.feed(event::MachineReleased{id});
    script.pass(3.0);
    if (id < 5) CHECK(script.feed(event::Tick{}).size() == 1);
  }
  CHECK(lines == Lines{"finish: failed"});
}

TEST_CASE("Hosts that always end before a segment begins end the campaign", "[campaign]") {
  ScriptedCampaign script(small_config(3));
  script.begin();
  Lines lines;
  const auto lose = [&](MachineId id) {
    script.bring(id);
    script.feed(event::HostLost{id, "no space left on device"});
    lines = script.feed(event::MachineReleased{id});
    script.pass(3.0);
    if (lines.empty()) script.feed(event::Tick{});
  };
  for (MachineId id = 1; id <= 4; ++id) lose(id);
  CHECK(lines.empty());
  SECTION("if no segment began in between") {
    lose(5);
    CHECK(lines == Lines{"finish: failed"});
  }
  SECTION("and not if one did") {
    script.bring(5);
    script.feed(event::SegmentBegan{5});
    script.feed(event::HostLost{5, "out of memory"});
    script.feed(event::MachineReleased{5});
    script.pass(3.0);
    script.feed(event::Tick{});
    for (MachineId id = 6; id <= 9; ++id) lose(id);
    CHECK(lines.empty());
  }
}

TEST_CASE("A refusal is waited for, or ends the campaign", "[campaign]") {
  ScriptedCampaign script(small_config(1));
  script.begin();
  CHECK(script.feed(event::MachineRefused{1, "capacity", 7.0}).empty());
  CHECK(*script.campaign().wake_seconds() == Approx(7.0));
  script.pass(7.0);
  CHECK(script.feed(event::Tick{}) == Lines{"request 2"});
  CHECK(script.feed(event::MachineRefused{2, "no such type", -1.0}) == Lines{"finish: failed"});
}

TEST_CASE("A log that says something else than the campaign decides is refused", "[campaign]") {
  ScriptedCampaign script(small_config(2));
  script.begin();
  script.bring(1);
  const ReplayedLog replayed = replay_log(script.plan(), script.log(), "log");
  CHECK(replayed.steps == 3);
  CHECK(replayed.campaign.tasks().size() == 1);
  // What a killed process has written in part was not done.
  const std::string torn = script.log() + script.log().substr(0, 20);
  CHECK(replay_log(script.plan(), torn, "log").steps == 3);
  CampaignPlan other = script.plan();
  other.config.machines.count = 2;
  CHECK_THROWS_WITH(replay_log(other, script.log(), "log"), Catch::Contains("log:1"));
  CHECK_THROWS_AS(replay_log(script.plan(), "{}\n", "log"), InputError);
}

// The connection of a VM that was taken without notice ends before the cloud says why.
class SpotMachine {
 public:
  SpotMachine() : script_(small_config()) {
    script_.begin();
    event::MachineReady ready;
    ready.machine = 1;
    ready.spot = true;
    script_.feed(ready);
    script_.feed(event::HostJoined{1});
    script_.pass(100.0);
  }
  ScriptedCampaign script_;
  std::size_t lost_lives() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(script_.campaign().lives().lives(), &perfmodel::Lifetime::lost));
  }
};

TEST_CASE("A spot machine whose host is gone counts as lost if the provider took it",
          "[campaign]") {
  SpotMachine spot;
  spot.script_.feed(event::SegmentBegan{1});
  CHECK(spot.script_.feed(event::HostLost{1, "end of file"}) == Lines{});  // it is not returned yet
  spot.script_.pass(2.0);
  CHECK(spot.script_.feed(event::Tick{}) == Lines{"request 2"});  // another one is asked for
  spot.script_.pass(10.0);
  spot.script_.feed(event::MachineLost{1, "was preempted", true});
  CHECK(spot.script_.campaign().losses() == 1);
  CHECK(spot.lost_lives() == 1);
  CHECK(spot.script_.campaign().simulations().begin()->second.broken_hosts == 0);
}

TEST_CASE("A spot machine whose host is gone is returned if the provider says nothing",
          "[campaign]") {
  SpotMachine spot;
  spot.script_.feed(event::HostLost{1, "end of file"});
  const auto wake = spot.script_.campaign().wake_seconds();
  REQUIRE(wake);
  spot.script_.pass_until(*wake);
  spot.script_.feed(event::Tick{});
  spot.script_.pass_until(*spot.script_.campaign().wake_seconds());
  CHECK(spot.script_.feed(event::Tick{}) == Lines{"release 1"});
  spot.script_.feed(event::MachineReleased{1});
  CHECK(spot.script_.campaign().losses() == 0);
  CHECK(spot.lost_lives() == 0);
}

TEST_CASE("A machine that was returned because of its notice counts as lost", "[campaign]") {
  SpotMachine spot;
  spot.script_.feed(event::SegmentBegan{1});
  spot.script_.feed(event::MachineNotice{1, 30.0});
  spot.script_.feed(event::SegmentEnded{1});
  CHECK(spot.script_.feed(event::SegmentKept{1, 700}) == Lines{"end 1", "release 1"});
  spot.script_.feed(event::MachineReleased{1});
  CHECK(spot.script_.campaign().losses() == 1);
  CHECK(spot.lost_lives() == 1);
}

}  // namespace
}  // namespace scavenger::campaign
