#include "campaign/core/rehearsal.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>
#include <vector>

#include "perfmodel/survival/checkpoint_rule.h"
#include "runtime/base/random.h"

namespace scavenger::campaign {
namespace {

// Of a campaign that never ends, since no machine lives long enough for a segment.
constexpr std::uint64_t kMostSteps = 2'000'000;
constexpr double kLeastWholeSeconds = 1e-3;
constexpr double kNoMachineSeconds = 60.0;

CampaignPlan without_surrogate(CampaignPlan plan) {
  plan.config.surrogate.reset();
  if (plan.config.selection.rule == SelectionRule::kUncertainty)
    plan.config.selection.rule = SelectionRule::kSpaceFilling;
  return plan;
}

class Rehearsal final {
 public:
  Rehearsal(CampaignPlan plan, const RehearsedWorld& world, std::uint64_t seed)
      : plan_(without_surrogate(std::move(plan))),
        world_(world),
        random_(seed, "rehearsal"),
        campaign_(plan_) {}

  Rehearsed run() {
    feed(event::Started{plan_.config.stop.max_simulations, plan_.config.stop.max_cost});
    while (!is_over_ && steps_ < kMostSteps && take_next()) {
    }
    Rehearsed result;
    result.status = is_over_ ? campaign_.status() : "failed";
    result.reason = is_over_ ? campaign_.reason() : "it does not end";
    result.seconds = seconds_;
    result.done = count_of(campaign_, SimulationState::kDone);
    for (const auto& [point, simulation] : campaign_.simulations())
      result.segments += simulation.segments.size();
    result.losses = campaign_.losses();
    result.spent = campaign_.ledger().amounts(seconds_);
    return result;
  }

 private:
  struct News {
    double seconds;
    std::uint64_t number;  // of equal times, the first that was planned is the first
    CampaignEvent event;
    MachineId machine;  // it is no news if this one is gone
    TaskId task;        // or this one; 0: whichever
    bool operator>(const News& other) const {
      return std::pair(seconds, number) > std::pair(other.seconds, other.number);
    }
  };

  void later(double seconds, CampaignEvent event, MachineId machine, TaskId task = 0) {
    news_.push({seconds_ + seconds, news_count_++, std::move(event), machine, task});
  }

  // False if nothing would ever happen any more.
  bool take_next() {
    const auto wake = campaign_.wake_seconds();
    if (news_.empty() && !wake) return false;
    if (news_.empty() || (wake && *wake < news_.top().seconds)) {
      seconds_ = std::max(seconds_, *wake);
      feed(event::Tick{});
      return true;
    }
    const News next = news_.top();
    news_.pop();
    const bool is_news =
        rented_.contains(next.machine) && (next.task == 0 || campaign_.tasks().contains(next.task));
    if (!is_news) return true;
    seconds_ = std::max(seconds_, next.seconds);
    const bool is_last = std::holds_alternative<event::MachineLost>(next.event) ||
                         std::holds_alternative<event::MachineReleased>(next.event) ||
                         std::holds_alternative<event::MachineRefused>(next.event);
    if (is_last) rented_.erase(next.machine);
    if (std::holds_alternative<event::CheckpointKept>(next.event)) add_to_share(next.task);
    feed(next.event);
    return true;
  }

  void feed(const CampaignEvent& event) {
    ++steps_;
    const CampaignActions actions = campaign_.step(event, seconds_);
    for (const CampaignAction& decided : actions)
      std::visit([this](const auto& what) { carry_out(what); }, decided);
  }

  const CatalogueEntry* free_entry(const std::string& type) const;
  void carry_out(const action::RequestMachine& request);
  void carry_out(const action::StartHost& start);
  void carry_out(const action::ReleaseMachine& release);
  void carry_out(const action::StartTask& start);
  void carry_out(const action::RunSegment& run);
  void carry_out(const action::StopTask& stop);
  void carry_out(const action::EndTask&) {}
  void carry_out(const action::Judge& judge) { feed_after(event::Judged{judge.point, {}, {}}); }
  void carry_out(const action::Finish&) { is_over_ = true; }
  void add_to_share(TaskId task);
  double simulation_seconds(const TaskRecord& task) const;
  void run_segment(TaskId task, double begin_seconds, std::uint64_t until);

  // An answer comes after the step that asked for it.
  void feed_after(CampaignEvent event) {
    rented_.try_emplace(kNobody, nullptr);
    later(0.0, std::move(event), kNobody);
  }

  static constexpr MachineId kNobody = 0;

  const CampaignPlan plan_;
  const RehearsedWorld& world_;
  RandomStream random_;
  Campaign campaign_;
  std::priority_queue<News, std::vector<News>, std::greater<>> news_;
  std::uint64_t news_count_ = 0;
  std::map<MachineId, const CatalogueEntry*> rented_;
  // Of simulations that take checkpoints by themselves: the share that the last of them has.
  std::map<PointIndex, double> done_shares_;
  std::uint64_t steps_ = 0;
  double seconds_ = 0.0;
  bool is_over_ = false;
};

// ---- Machines. ----

MachinePrice price_or_none(const CatalogueEntry& entry, bool spot) {
  return price_of(entry, spot).value_or(MachinePrice());
}

// As the provider chooses it: the first or the cheapest one that is left.
const CatalogueEntry* Rehearsal::free_entry(const std::string& type) const {
  const bool spot = plan_.config.provider.spot;
  const CatalogueEntry* best = nullptr;
  for (const CatalogueEntry& entry : plan_.catalogue.entries) {
    if (!type.empty() && entry.type != type) continue;
    const auto rented = std::ranges::count_if(
        rented_, [&](const auto& machine) { return machine.second == &entry; });
    if (entry.count && std::cmp_greater_equal(rented, *entry.count)) continue;
    const bool is_better =
        best == nullptr ||
        (plan_.catalogue.order == MachineCatalogue::Order::kCheapestFirst &&
         price_or_none(entry, spot).per_hour < price_or_none(*best, spot).per_hour);
    if (is_better) best = &entry;
  }
  return best;
}

void Rehearsal::carry_out(const action::RequestMachine& request) {
  const CatalogueEntry* const entry = free_entry(request.type);
  rented_[request.machine] = entry;
  if (entry == nullptr)
    return later(0.0, event::MachineRefused{request.machine, "all are taken", kNoMachineSeconds},
                 request.machine);
  const bool is_spot = plan_.config.provider.spot && entry->spot.has_value();
  const MachinePrice price = price_or_none(*entry, plan_.config.provider.spot);
  event::MachineReady ready;
  ready.machine = request.machine;
  ready.type = entry->type;
  ready.zone = entry->zone;
  ready.spot = is_spot;
  ready.cores = cores_of(plan_.config, *entry, world_);
  ready.price_per_hour = price.per_hour;
  ready.on_demand_price_per_hour =
      is_spot && entry->on_demand ? entry->on_demand->per_hour : price.per_hour;
  ready.minimum_seconds = price.minimum_seconds;
  ready.returning_seconds = price.returning_seconds;
  later(0.0, ready, request.machine);
}

void Rehearsal::carry_out(const action::StartHost& start) {
  later(world_.start_seconds, event::HostJoined{start.machine}, start.machine);
  const MachineRecord& machine = campaign_.machines().at(start.machine);
  double life = plan_.wall_seconds;
  if (machine.facts.spot && world_.lives)
    life = std::min(life, drawn_life_seconds(*world_.lives, 0.0, random_.uniform()));
  if (std::isfinite(life))
    later(life, event::MachineLost{start.machine, "was taken away", true}, start.machine);
}

void Rehearsal::carry_out(const action::ReleaseMachine& release) {
  const CatalogueEntry* const entry = rented_.at(release.machine);
  const double seconds =
      entry == nullptr ? 0.0 : price_or_none(*entry, plan_.config.provider.spot).returning_seconds;
  later(seconds, event::MachineReleased{release.machine}, release.machine);
}

// ---- Simulations. ----

double Rehearsal::simulation_seconds(const TaskRecord& task) const {
  const std::string& type = campaign_.machines().at(task.machine).facts.type;
  return std::max(kLeastWholeSeconds, world_.simulation_seconds(task.point, type));
}

void Rehearsal::add_to_share(TaskId id) {
  const TaskRecord& task = campaign_.tasks().at(id);
  done_shares_[task.point] += (seconds_ - task.phase_seconds) / simulation_seconds(task);
}

void Rehearsal::carry_out(const action::StartTask& start) {
  later(world_.checkpoint_seconds, event::SegmentBegan{start.task}, start.machine, start.task);
  run_segment(start.task, world_.checkpoint_seconds, start.until);
}

void Rehearsal::carry_out(const action::RunSegment& run) {
  const MachineId machine = campaign_.tasks().at(run.task).machine;
  // What it costs is between the end of the last one and this moment.
  later(0.0, event::SegmentBegan{run.task}, machine, run.task);
  run_segment(run.task, 0.0, run.until);
}

void Rehearsal::run_segment(TaskId id, double begin_seconds, std::uint64_t until) {
  const TaskRecord& task = campaign_.tasks().at(id);
  const SimulationConfig& simulation = plan_.config.simulation;
  const double whole = simulation_seconds(task);
  double seconds =
      whole * static_cast<double>(until - task.from) / static_cast<double>(simulation.steps);
  if (simulation.checkpoint.mode == CheckpointMode::kSelf) {
    seconds = whole * (1.0 - done_shares_[task.point]);
    const double fixed = simulation.checkpoint.interval_seconds;
    const double interval = fixed > 0.0
                                ? fixed
                                : checkpoint_interval_seconds(campaign_.lives().survival(), 0.0,
                                                              {world_.checkpoint_seconds, 1.0});
    for (double at = interval; at < seconds; at += interval)
      later(begin_seconds + at, event::CheckpointKept{id}, task.machine, id);
  }
  later(begin_seconds + seconds, event::SegmentEnded{id}, task.machine, id);
  later(begin_seconds + seconds + world_.checkpoint_seconds, event::SegmentKept{id, until},
        task.machine, id);
}

// It stops at once, with what it has.
void Rehearsal::carry_out(const action::StopTask& stop) {
  const TaskRecord& task = campaign_.tasks().at(stop.task);
  if (task.phase != TaskPhase::kRunning) return;
  const double whole = simulation_seconds(task);
  const double share = (seconds_ - task.phase_seconds) / whole;
  const auto steps =
      static_cast<std::uint64_t>(share * static_cast<double>(plan_.config.simulation.steps));
  later(0.0, event::SegmentEnded{stop.task}, task.machine, stop.task);
  later(world_.checkpoint_seconds,
        event::SegmentKept{stop.task, std::min(task.until, task.from + steps)}, task.machine,
        stop.task);
}

}  // namespace

std::uint32_t cores_of(const CampaignConfig& config, const CatalogueEntry& entry,
                       const RehearsedWorld& world) {
  const auto cores = static_cast<std::uint32_t>(entry.cores);
  if (config.provider.type == ProviderType::kLocal)
    return std::max(1U, cores / config.machines.count);
  return entry.cores > 0.0 ? std::max(1U, cores) : world.cores;
}

Amount Rehearsed::all() const {
  Amount sum;
  for (const Amount& amount : spent) sum.add(amount);
  return sum;
}

Rehearsed rehearse(const CampaignPlan& plan, const RehearsedWorld& world, std::uint64_t seed) {
  return Rehearsal(plan, world, seed).run();
}

}  // namespace scavenger::campaign
