#include "campaign/core/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::campaign {
namespace {

constexpr double kHostRetrySeconds = 2.0;
constexpr double kRefusedRetrySeconds = 5.0;
constexpr std::uint32_t kMostBrokenHosts = 5;
// How long after its host's end the provider may take to tell that it took a machine.
constexpr double kVerdictSeconds = 30.0;

}  // namespace

Campaign::Campaign(CampaignPlan plan)
    : plan_(std::move(plan)),
      space_(plan_.config.space),
      order_(space_, plan_.config.selection, plan_.config.seed),
      lives_(plan_.config.simulation.checkpoint.mean_life_hours * 3600.0, plan_.wall_seconds),
      choice_(plan_.catalogue, plan_.config),
      max_simulations_(plan_.config.stop.max_simulations),
      max_cost_(plan_.config.stop.max_cost),
      most_machines_(plan_.config.machines.count) {}

CampaignActions Campaign::step(const CampaignEvent& event, double now_seconds) {
  SCAVENGER_CHECK(now_seconds >= now_seconds_);
  now_seconds_ = now_seconds;
  std::visit([this](const auto& happened) { on(happened); }, event);
  schedule();
  return std::exchange(actions_, {});
}

// ---- The process. ----

void Campaign::on(const event::Started& started) {
  max_simulations_ = started.max_simulations;
  max_cost_ = started.max_cost;
  most_machines_ = started.most_machines > 0 ? started.most_machines : plan_.config.machines.count;
  for (const auto& [id, machine] : machines_) drop_tasks_of(id);
  for (const auto& [id, machine] : machines_)
    if (ledger_.is_open(id)) ledger_.close(id, now_seconds_);
  machines_.clear();
  broken_hosts_ = 0;
  request_again_seconds_ = 0.0;
  end_.reset();
  recent_failures_.clear();
  for (const auto& [point, simulation] : simulations_)
    if (simulation.state == SimulationState::kJudging) actions_.push_back(action::Judge{point});
  if (started.tries_failed_again) try_failed_again();
}

// Each goes on from its last checkpoint, and has all of its tries again.
void Campaign::try_failed_again() {
  for (auto& [point, simulation] : simulations_) {
    if (simulation.state != SimulationState::kFailed) continue;
    ledger_.move(Spent::kDiscarded, Spent::kUseful, simulation.cost());
    simulation.state = SimulationState::kWaiting;
    simulation.failures = simulation.lost_trials = 0;
    simulation.wall_losses = simulation.broken_hosts = 0;
    simulation.failed_on.reset();
    waiting_.push_back(point);
  }
}

void Campaign::on(const event::StopAsked& asked) {
  begin_end(asked.is_failure ? "failed" : "stopped", asked.reason,
            asked.at_once ? 0.0 : grace_seconds());
}

// ---- Machines. ----

void Campaign::on(const event::MachineReady& ready) {
  const auto found = machines_.find(ready.machine);
  if (found == machines_.end()) return;
  MachineRecord& machine = found->second;
  machine.facts = ready;
  const std::uint32_t slots = slots_of(ready.cores);
  machine.ready_seconds = now_seconds_ - ready.charged_seconds;
  ledger_.open(ready.machine, slots,
               {ready.price_per_hour, ready.on_demand_price_per_hour, ready.minimum_seconds},
               machine.ready_seconds);
  last_slots_ = slots;
  choice_.admit(ready.type);
  if (machine.state == MachineState::kLeaving) return;
  machine.slots.assign(slots, std::nullopt);
  machine.state = MachineState::kStarting;
  machine.state_seconds = now_seconds_;
  actions_.push_back(action::StartHost{ready.machine});
}

// Rather another type now than this one later, once no zone has it.
void Campaign::on(const event::MachineDelayed& delayed) {
  const auto found = machines_.find(delayed.machine);
  if (found == machines_.end() || found->second.state != MachineState::kRequested) return;
  MachineRecord& machine = found->second;
  if (machine.asked_type.empty() || ++machine.delays < choice_.zones(machine.asked_type)) return;
  choice_.refuse(machine.asked_type, now_seconds_);
  if (choice_.has_other(machine.asked_type, now_seconds_)) release(delayed.machine);
}

void Campaign::on(const event::MachineRefused& refused) {
  const auto found = machines_.find(refused.machine);
  if (found == machines_.end()) return;
  const std::string type = found->second.asked_type;
  machines_.erase(found);
  if (!type.empty()) {
    choice_.refuse(type, now_seconds_);
    if (choice_.has_other(type, now_seconds_)) return;  // which is asked for at once
  }
  if (refused.retry_seconds < 0.0) {
    if (machines_.empty())
      begin_end("failed", "no machine is available: " + refused.reason, grace_seconds());
    request_again_seconds_ = now_seconds_ + 60.0;
    return;
  }
  const double pause = refused.retry_seconds > 0.0 ? refused.retry_seconds : kRefusedRetrySeconds;
  request_again_seconds_ = std::max(request_again_seconds_, now_seconds_ + pause);
}

void Campaign::on(const event::MachineNotice& notice) {
  const auto found = machines_.find(notice.machine);
  if (found == machines_.end() || found->second.state == MachineState::kLeaving) return;
  found->second.has_notice = true;
  for (const auto& slot : found->second.slots)
    if (slot) request_stop(*slot, tasks_.at(*slot));
}

void Campaign::on(const event::MachineLost& lost) {
  const auto found = machines_.find(lost.machine);
  if (found == machines_.end()) return;
  if (lost.was_taken && found->second.verdict_seconds) {
    // What ran there when its host ended did not break it.
    for (auto& [point, simulation] : simulations_)
      if (simulation.failed_on == lost.machine && simulation.broken_hosts > 0)
        --simulation.broken_hosts;
  }
  if (lost.was_taken)
    learn_from_loss(lost.machine);
  else
    blame_tasks_of(lost.machine, lost.how);
  drop_tasks_of(lost.machine);
  if (ledger_.is_open(lost.machine)) {
    const MachineRecord& machine = found->second;
    const bool was_returned =
        machine.state == MachineState::kLeaving && !machine.has_notice && !machine.verdict_seconds;
    if (!was_returned) ++losses_;
    const event::MachineReady& facts = found->second.facts;
    lives_.add({facts.type, facts.zone}, now_seconds_ - found->second.ready_seconds,
               lost.was_taken);
    ledger_.close(lost.machine, now_seconds_);
  }
  machines_.erase(found);
}

void Campaign::on(const event::MachineReleased& released) {
  const auto found = machines_.find(released.machine);
  if (found == machines_.end()) return;
  if (ledger_.is_open(released.machine)) {
    const event::MachineReady& facts = found->second.facts;
    // One that had notice was returned because it would have been taken.
    const bool was_taken = found->second.has_notice;
    if (was_taken) ++losses_;
    lives_.add({facts.type, facts.zone}, now_seconds_ - found->second.ready_seconds, was_taken);
    ledger_.close(released.machine, now_seconds_);
  }
  machines_.erase(found);
}

void Campaign::on(const event::HostJoined& joined) {
  const auto found = machines_.find(joined.machine);
  if (found == machines_.end() || found->second.state != MachineState::kStarting) return;
  found->second.state = MachineState::kReady;
  found->second.state_seconds = now_seconds_;
  choice_.add_start(now_seconds_ - found->second.ready_seconds);
  for (std::uint32_t slot = 0; slot < found->second.slots.size(); ++slot)
    ledger_.enter(joined.machine, slot, Ledger::Phase::kIdle, now_seconds_);
}

// The machine is returned: it may be what is broken. Another one is asked for. Often the end of the
// host is the first news of a spot machine that was taken away, so the provider is waited for.
void Campaign::on(const event::HostLost& lost) {
  const auto found = machines_.find(lost.machine);
  if (found == machines_.end() || found->second.state == MachineState::kLeaving) return;
  const auto is_beginning = [this](const std::optional<TaskId>& task) {
    return task && tasks_.at(*task).phase == TaskPhase::kSending;
  };
  if (found->second.state == MachineState::kStarting ||
      std::ranges::any_of(found->second.slots, is_beginning))
    ++broken_hosts_;
  blame_tasks_of(lost.machine, lost.how);
  drop_tasks_of(lost.machine);
  if (found->second.facts.spot && !end_) {
    found->second.state = MachineState::kLeaving;
    found->second.state_seconds = now_seconds_;
    found->second.verdict_seconds = now_seconds_ + kVerdictSeconds;
  } else {
    release(lost.machine);
  }
  request_again_seconds_ = std::max(request_again_seconds_, now_seconds_ + kHostRetrySeconds);
  if (broken_hosts_ >= kMostBrokenHosts)
    begin_end(
        "failed",
        fmt::format("scavenger-task ended on {} machines in a row before a simulation began: {}",
                    broken_hosts_, lost.how),
        grace_seconds());
}

std::size_t count_of(const Campaign& campaign, SimulationState state) {
  return static_cast<std::size_t>(std::ranges::count_if(
      campaign.simulations(),
      [&](const auto& entry) { return entry.second.shown_state() == state; }));
}

}  // namespace scavenger::campaign
