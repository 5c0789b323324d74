#include "runtime/provider/emulated/emulated_provider.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/net/spawn.h"
#include "runtime/process/command.h"
#include "runtime/provider/emulated/cpu_share.h"

namespace scavenger {
namespace {

constexpr double kScriptSeconds = 30.0;
constexpr double kCapacityRetrySeconds = 2.0;
// The longest wait until killed processes have been reaped, since they stay in their control group
// until then.
constexpr double kReapSeconds = 5.0;
constexpr double kLookAgainSeconds = 0.02;

[[noreturn]] void refuse(RefusalKind kind, Problem problem,
                         std::optional<double> retry_after_seconds = std::nullopt) {
  throw MachineRefused({kind, std::move(problem), retry_after_seconds});
}

awaitable<void> run_script(std::string script, std::string what) {
  std::vector<std::string> words = {"sh", "-s"};
  const CommandResult result = co_await run_command(std::move(words), script, kScriptSeconds);
  if (result.succeeded()) co_return;
  throw SystemError({.what = result.failure(),
                     .where = what,
                     .remedy = "emulated machines need root, and the programs ip and tc of "
                               "iproute2"});
}

// The age by which `share` of the machines are gone; nothing if that many never are.
std::optional<double> age_at(const std::vector<LostShare>& table, double share) {
  LostShare last;
  for (const LostShare& row : table) {
    if (share < row.share)
      return last.age_seconds +
             (row.age_seconds - last.age_seconds) * (share - last.share) / (row.share - last.share);
    last = row;
  }
  return std::nullopt;
}

std::optional<double> drawn_life(const PreemptionSettings& settings, double uniform) {
  if (!settings.lifetimes.empty()) return age_at(settings.lifetimes, uniform);
  if (settings.mean_life_seconds <= 0.0) return std::nullopt;
  return -settings.mean_life_seconds * std::log1p(-uniform);
}

}  // namespace

std::optional<PreemptionPlan::Fate> PreemptionPlan::next(std::uint32_t worker, bool spot) {
  RandomStream stream(settings_.seed, "preemption", {machines_++});
  const auto found = std::ranges::find(settings_.schedule, worker, &ScheduledLoss::worker);
  if (found != settings_.schedule.end()) {
    const Fate fate{found->life_seconds, found->notice_seconds};
    settings_.schedule.erase(found);
    return fate;
  }
  if (!spot) return std::nullopt;
  const std::optional<double> life_seconds = drawn_life(settings_, stream.uniform());
  if (!life_seconds) return std::nullopt;
  const bool is_told = stream.uniform() < settings_.notice_share;
  return Fate{*life_seconds, is_told ? settings_.notice_seconds : 0.0};
}

double emulated_speed(const MachineSpeeds& speeds, std::uint64_t machine) {
  RandomStream stream(speeds.seed, "machine speed", {machine});
  double speed = std::exp(speeds.spread * stream.normal());
  for (const SlowMachine& slow : speeds.slow)
    if (slow.machine == machine) speed *= slow.speed;
  return speed;
}

MachineCatalogue emulated_catalogue(const EmulatedSettings& settings) {
  MachineCatalogue catalogue;
  for (const EmulatedMachineType& type : settings.types) {
    CatalogueEntry entry;
    entry.type = type.name;
    entry.cores = type.cores;
    entry.link_megabits = type.link_megabits;
    entry.on_demand = MachinePrice{
        .per_hour = type.price_per_hour, .on_demand_per_hour = type.price_per_hour, .source = {}};
    entry.spot = entry.on_demand;
    entry.spot->per_hour = type.spot_price_per_hour;
    entry.count = type.count;
    catalogue.entries.push_back(std::move(entry));
  }
  return catalogue;
}

EmulatedProvider::EmulatedProvider(asio::io_context& io, const Clock& clock,
                                   EmulatedSettings settings)
    : Lessor(io),
      clock_(clock),
      settings_(std::move(settings)),
      catalogue_(emulated_catalogue(settings_)),
      names_(::getpid(), free_emulated_network(static_cast<std::uint32_t>(::getpid()))),
      plan_(settings_.preemption) {}

// A command that a killed job had begun may have ended only after this job began.
EmulatedProvider::~EmulatedProvider() {
  remove_emulated(::getpid());
  remove_abandoned_emulated();
}

const EmulatedMachineType* EmulatedProvider::find_type(const std::string& name) const {
  if (name.empty()) return &settings_.types.front();
  const auto found = std::ranges::find(settings_.types, name, &EmulatedMachineType::name);
  return found == settings_.types.end() ? nullptr : &*found;
}

awaitable<void> EmulatedProvider::open() {
  if (::geteuid() != 0)
    refuse(RefusalKind::kPermission, {.what = "emulated machines need root",
                                      .where = "provider",
                                      .remedy = "run it as root, or use provider local"});
  for (const std::string& removed : remove_abandoned_emulated())
    log_info("removed what a killed job had left: {}", removed);
  std::string script = names_.make_bridge_script();
  co_await run_script(std::move(script), "emulated network");
}

// Returns the type `name`, or, if that is empty, the first type that has a machine left; null if
// there is none left.
const EmulatedMachineType* EmulatedProvider::free_type(const std::string& name) const {
  if (places_.size() >= kEmulatedSlots) return nullptr;
  const auto is_free = [&](const EmulatedMachineType& type) {
    const auto used = std::ranges::count_if(
        places_, [&](const auto& entry) { return entry.second.type == &type; });
    return (name.empty() || type.name == name) && std::cmp_less(used, type.count);
  };
  const auto found = std::ranges::find_if(settings_.types, is_free);
  return found == settings_.types.end() ? nullptr : &*found;
}

// Takes a free place. Throws MachineRefused if there is none.
EmulatedProvider::Place EmulatedProvider::take_place(MachineId id, const MachineRequest& request) {
  if (find_type(request.type) == nullptr)
    refuse(RefusalKind::kInvalid, {.what = fmt::format("there is no type \"{}\"", request.type),
                                   .where = "provider.machines",
                                   .remedy = "name one that is there"});
  const EmulatedMachineType* const type = free_type(request.type);
  if (type == nullptr)
    refuse(RefusalKind::kCapacity,
           {.what = request.type.empty()
                        ? "all machines are taken"
                        : fmt::format("all machines of type \"{}\" are taken", request.type),
            .where = "provider.machines",
            .remedy = "wait for one, or raise a count"},
           kCapacityRetrySeconds);
  const auto is_taken = [&](std::uint32_t slot) {
    return std::ranges::any_of(places_,
                               [&](const auto& entry) { return entry.second.slot == slot; });
  };
  while (is_taken(next_slot_)) next_slot_ = (next_slot_ + 1) % kEmulatedSlots;
  const Place place{next_slot_, type};
  next_slot_ = (next_slot_ + 1) % kEmulatedSlots;
  return places_[id] = place;
}

awaitable<Machine> EmulatedProvider::obtain(MachineId id, const MachineRequest& request) {
  const double begin = clock_.now_seconds();
  const Place place = take_place(id, request);
  const double cores = place.type->cores * emulated_speed(settings_.speeds, obtained_++);
  const auto group =
      make_cpu_share(names_.group(place.slot), cores, settings_.quota_period_seconds);
  const std::string space = names_.space(place.slot);
  std::string script = names_.make_machine_script(place.slot, place.type->link_megabits);
  co_await run_script(std::move(script), space);
  const double taken = clock_.now_seconds() - begin;
  co_await pause(id, std::max(0.0, place.type->start_seconds - taken));

  Machine machine;
  machine.name = fmt::format("vm{}", place.slot);
  machine.type = place.type->name;
  machine.spot = request.spot;
  machine.cores = std::max(1U, static_cast<std::uint32_t>(std::lround(place.type->cores)));
  machine.price = *price(place.type->name, request.spot);
  machine.address = names_.address(place.slot);
  machine.launch = {"sh", "-c",
                    fmt::format("echo $$ >{}/cgroup.procs && exec ip netns exec {} \"$@\"",
                                group.string(), space),
                    "sh"};
  if (const auto fate = plan_.next(request.worker, request.spot)) spawn(io(), end_later(id, *fate));
  co_return machine;
}

awaitable<void> EmulatedProvider::end_later(MachineId id, PreemptionPlan::Fate fate) {
  co_await rest(std::max(0.0, fate.life_seconds - fate.notice_seconds));
  if (fate.notice_seconds > 0.0) {
    const MachineNotice notice{fate.notice_seconds, "preempted"};
    tell_notice(id, notice);
    co_await rest(std::min(fate.notice_seconds, fate.life_seconds));
  }
  if (!is_wanted(id)) co_return;
  // Emulates a power failure: the machine sends nothing more, not even the end of its connections.
  cut_cable(names_.port(places_.at(id).slot));
  lose(id, {"was preempted"});
}

awaitable<void> EmulatedProvider::give_back(MachineId id) {
  const auto found = places_.find(id);
  if (found == places_.end()) co_return;
  const std::uint32_t slot = found->second.slot;
  const auto group = cpu_share_root() / names_.group(slot);
  kill_all_in(group);
  cut_cable(names_.port(slot));
  remove_space(names_.space(slot));
  for (double waited = 0.0; !remove_cpu_share(group) && waited < kReapSeconds;
       waited += kLookAgainSeconds)
    co_await rest(kLookAgainSeconds);
  places_.erase(id);
}

awaitable<std::vector<std::string>> EmulatedProvider::close() {
  remove_emulated(::getpid());
  co_return std::vector<std::string>();
}

namespace {

class EmulatedFactory final : public ProviderFactory {
 public:
  MachineCatalogue catalogue(const JobConfig& config, std::uint32_t) const override {
    return emulated_catalogue(emulated_settings(config.provider));
  }
  std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                 const ProviderHost&) const override {
    static const SteadyClock clock;
    return std::make_unique<EmulatedProvider>(io, clock, emulated_settings(config.provider));
  }
  awaitable<std::vector<std::string>> clean() const override {
    co_return remove_abandoned_emulated();
  }
};

}  // namespace

const ProviderFactory& emulated_provider_factory() {
  static const EmulatedFactory factory;
  return factory;
}

}  // namespace scavenger
