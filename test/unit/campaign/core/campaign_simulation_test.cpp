// Whole campaigns on a virtual clock, with everything that may happen at random.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <queue>

#include "runtime/base/random.h"
#include "test/unit/campaign/core/scripted_campaign.h"

namespace scavenger::campaign {
namespace {

// Machines that come late, give notice or not, and die; commands that fail or diverge; checkpoints
// that are damaged; a controller that is killed.
class RandomWorld {
 public:
  RandomWorld(std::uint64_t seed, CampaignConfig config)
      : config_(config),
        stream_(seed, "world"),
        script_(std::move(config), {.per_hour = kPrice, .source = {}}) {}

  static constexpr double kPrice = 3.6;  // dollars

  void run() {
    script_.begin();
    obey();
    for (int steps = 0; !is_over_; ++steps) {
      REQUIRE(steps < 100000);
      step();
    }
  }
  const ScriptedCampaign& script() const { return script_; }
  std::map<PointIndex, int> completions;  // how often a whole simulation was kept
  double longest_loss_seconds = 0.0;

 private:
  struct News {
    double seconds;
    CampaignEvent event;
    std::optional<MachineId> machine;  // dropped if it is gone
    std::optional<TaskId> task;        // dropped if it is gone
    bool operator>(const News& other) const { return seconds > other.seconds; }
  };

  void later(double seconds, CampaignEvent event, std::optional<MachineId> machine,
             std::optional<TaskId> task = {}) {
    news_.push({script_.seconds() + seconds, std::move(event), machine, task});
  }

  void step() {
    const auto wake = script_.campaign().wake_seconds();
    REQUIRE((wake || !news_.empty()));  // it waits for nothing that cannot happen
    if (news_.empty() || (wake && *wake < news_.top().seconds)) {
      script_.pass_until(*wake);
      feed(event::Tick{});
      return;
    }
    const News next = news_.top();
    news_.pop();
    script_.pass_until(next.seconds);
    if (next.machine && !alive_.contains(*next.machine)) return;
    if (next.task && !script_.campaign().tasks().contains(*next.task)) return;
    if (stream_.uniform() < 0.005) return kill_controller();
    if (std::holds_alternative<event::MachineLost>(next.event)) alive_.erase(*next.machine);
    feed(next.event);
  }

  void kill_controller() {
    alive_.clear();
    news_ = {};
    const ReplayedLog replayed = replay_log(script_.plan(), script_.log(), "log");
    CHECK(replayed.campaign.simulations().size() == script_.campaign().simulations().size());
    feed(event::Started{config_.stop.max_simulations, config_.stop.max_cost});
  }

  void feed(const CampaignEvent& event) {
    const double before = script_.spent(Spent::kRedone).seconds;
    script_.feed(event);
    longest_loss_seconds =
        std::max(longest_loss_seconds, script_.spent(Spent::kRedone).seconds - before);
    obey();
  }

  void obey() {
    const CampaignActions actions = script_.last();
    for (const CampaignAction& decided : actions) {
      if (const auto* a = std::get_if<action::RequestMachine>(&decided)) request(a->machine);
      if (const auto* a = std::get_if<action::StartHost>(&decided)) start_host(a->machine);
      if (const auto* a = std::get_if<action::ReleaseMachine>(&decided)) {
        alive_.erase(a->machine);
        news_.push({script_.seconds() + 0.5, event::MachineReleased{a->machine}, {}, {}});
      }
      if (const auto* a = std::get_if<action::StartTask>(&decided)) start_task(*a);
      if (const auto* a = std::get_if<action::RunSegment>(&decided)) {
        const TaskRecord& task = script_.campaign().tasks().at(a->task);
        run(a->task, task.machine, a->until);
      }
      if (const auto* a = std::get_if<action::StopTask>(&decided)) stop(a->task);
      if (const auto* a = std::get_if<action::Judge>(&decided)) {
        ++completions[a->point];
        news_.push({script_.seconds(),
                    event::Judged{a->point, stream_.uniform() < 0.05 ? "hot" : "", ""},
                    {},
                    {}});
      }
      if (std::holds_alternative<action::Finish>(decided)) is_over_ = true;
    }
  }

  void request(MachineId id) {
    if (stream_.uniform() < 0.1)
      return news_.push({script_.seconds() + 1.0, event::MachineRefused{id, "none", 2.0}, {}, {}});
    alive_.insert({id, true});
    event::MachineReady ready;
    ready.machine = id;
    ready.cores = 1 + static_cast<std::uint32_t>(stream_.below(3));
    ready.price_per_hour = kPrice;
    later(stream_.uniform() * 5.0, ready, id);
  }

  void start_host(MachineId id) {
    const double life = 5.0 + 120.0 * stream_.uniform();
    if (stream_.uniform() < 0.3) later(life - 4.0, event::MachineNotice{id, 4.0}, id);
    later(life, event::MachineLost{id, "was preempted", true}, id);
    if (stream_.uniform() < 0.05) return later(1.0, event::HostLost{id, "exit code 1"}, id);
    later(1.0, event::HostJoined{id}, id);
    if (stream_.uniform() < 0.1) later(20.0, event::HostLost{id, "hangs"}, id);
  }

  void start_task(const action::StartTask& task) {
    if (task.kept > 0 && stream_.uniform() < 0.05)
      return news_.push(
          {script_.seconds(), event::CheckpointDamaged{task.task, task.kept - 1}, {}, task.task});
    run(task.task, task.machine, task.until);
  }

  void run(TaskId task, MachineId machine, std::uint64_t until) {
    const TaskRecord& record = script_.campaign().tasks().at(task);
    const double seconds = static_cast<double>(until - record.from) / kStepsPerSecond;
    later(0.1, event::SegmentBegan{task}, machine, task);
    const double dice = stream_.uniform();
    if (dice < 0.02)
      return later(0.1 + seconds / 2.0, event::TaskFailed{task, "failed", "exit code 1", ""},
                   machine, task);
    if (dice < 0.03)
      return later(0.1 + seconds / 2.0, event::TaskFailed{task, "diverged", "exit code 3", ""},
                   machine, task);
    later(0.1 + seconds, event::SegmentEnded{task}, machine, task);
    later(0.3 + seconds, event::SegmentKept{task, until}, machine, task);
  }

  // Half of them stop in order, with what they have; the others do not hear it.
  void stop(TaskId id) {
    const TaskRecord& task = script_.campaign().tasks().at(id);
    if (task.phase != TaskPhase::kRunning || stream_.uniform() < 0.5) return;
    const double ran = script_.seconds() - task.phase_seconds;
    const auto steps = static_cast<std::uint64_t>(ran * kStepsPerSecond);
    later(0.0, event::SegmentEnded{id}, task.machine, id);
    later(0.1, event::SegmentKept{id, std::min(task.until, task.from + steps)}, task.machine, id);
  }

  static constexpr double kStepsPerSecond = 10.0;
  CampaignConfig config_;
  RandomStream stream_;
  ScriptedCampaign script_;
  std::map<MachineId, bool> alive_;
  std::priority_queue<News, std::vector<News>, std::greater<>> news_;
  bool is_over_ = false;
};

CampaignConfig random_config() {
  CampaignConfig config = small_config(12);
  config.machines.count = 3;
  config.simulation.tries = 5;
  config.selection.holdout = 3;
  return config;
}

TEST_CASE("Whatever happens, each simulation ends once, and the books balance", "[campaign]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    RandomWorld world(seed, random_config());
    world.run();
    const Campaign& campaign = world.script().campaign();
    CHECK(campaign.simulations().size() == 12);
    for (const auto& [point, simulation] : campaign.simulations()) {
      CHECK(simulation.is_over());
      // A controller that was killed before it had judged a result judges it again.
      if (simulation.state == SimulationState::kDone) CHECK(simulation.steps() == 1000);
    }
    CHECK(campaign.machines().empty());
    CHECK(campaign.tasks().empty());
    // Segments of 10 s, and a fifth more at the end; three slots on each of three machines when a
    // controller is killed.
    CHECK(world.longest_loss_seconds <= 9 * 12.5);
    Amount useful;
    for (const auto& [point, simulation] : campaign.simulations())
      if (simulation.state == SimulationState::kDone) useful.add(simulation.cost());
    CHECK(world.script().spent(Spent::kUseful).seconds == Approx(useful.seconds).margin(1e-6));
    for (const Amount& amount : campaign.ledger().amounts(world.script().seconds()))
      CHECK(amount.seconds >= -1e-6);
    CHECK(replay_log(world.script().plan(), world.script().log(), "log").campaign.is_ended());
  }
}

TEST_CASE("Whatever happens, max_cost is kept", "[campaign]") {
  int limited = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    CampaignConfig config = random_config();
    config.stop.max_cost = 0.05 + 0.01 * static_cast<double>(seed % 40);
    RandomWorld world(seed, config);
    world.run();
    const double dollars = world.script().campaign().ledger().dollars(world.script().seconds());
    CHECK(dollars <= config.stop.max_cost);
    const auto* finish = std::get_if<action::Finish>(&world.script().last().back());
    REQUIRE(finish != nullptr);
    if (finish->status == "max_cost") {
      ++limited;
      CHECK(dollars > 0.3 * config.stop.max_cost);
    }
  }
  CHECK(limited > 100);
}

}  // namespace
}  // namespace scavenger::campaign
