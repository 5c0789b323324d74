#include "test/simulation/simulated_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace scavenger::elastic {
namespace {

// Until a released machine is gone, and until it is known of a taken one that it is.
constexpr double kMostReleaseSeconds = 1.2;
constexpr double kMostTakingSeconds = 2.0;
constexpr double kMostReturningSeconds = std::max(kMostReleaseSeconds, kMostTakingSeconds);

MachineCatalogue catalogue_of(const Market& market) {
  MachinePrice price;
  price.per_hour = market.price_per_hour;
  price.returning_seconds = kMostReturningSeconds;
  return {{{.type = {}, .on_demand = price, .spot = price}}};
}

}  // namespace

SimulatedProvider::SimulatedProvider(VirtualLoop& loop, Market market, std::uint64_t seed)
    : loop_(loop),
      market_(market),
      catalogue_(catalogue_of(market)),
      random_(seed, "simulated provider") {}

void SimulatedProvider::begin(ProviderListener& listener, BeginDone done) {
  listener_ = &listener;
  loop_.post([done = std::move(done)] { done(std::nullopt); });
}

bool SimulatedProvider::is_wanted(MachineId id) const {
  const auto found = leases_.find(id);
  return found != leases_.end() && !found->second.is_released;
}

void SimulatedProvider::request(MachineId id, const MachineRequest&) {
  leases_[id];
  if (random_.uniform() < market_.refusal_share) {
    loop_.after(5.0, [this, id] {
      if (!is_wanted(id)) return;
      leases_.erase(id);
      listener_->on_refused(
          id, {RefusalKind::kCapacity, {.what = "none is left", .where = {}, .remedy = {}}, 10.0});
    });
    return;
  }
  const double range = market_.longest_start_seconds - market_.shortest_start_seconds;
  loop_.after(market_.shortest_start_seconds + range * random_.uniform(),
              [this, id] { bring(id); });
}

void SimulatedProvider::bring(MachineId id) {
  if (!is_wanted(id)) return;
  leases_.at(id).is_ready = true;
  ++machines_;
  if (market_.mean_life_seconds > 0.0) {
    const double life = -market_.mean_life_seconds * std::log(1.0 - random_.uniform());
    if (random_.uniform() < market_.notice_share)
      loop_.after(std::max(0.0, life - market_.notice_seconds), [this, id] {
        if (!is_wanted(id)) return;
        ++notices_;
        listener_->on_notice(id, {market_.notice_seconds, "preempted"});
      });
    loop_.after(life, [this, id] { take(id); });
  }
  Machine machine;
  machine.name = fmt::format("m{}", id);
  machine.address = machine.name;
  machine.spot = market_.mean_life_seconds > 0.0;
  machine.price = *catalogue_.entries.front().spot;
  listener_->on_ready(id, machine);
}

// The processes there are gone at once; that the machine is, is known a little later.
void SimulatedProvider::take(MachineId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  found->second.is_taken = true;
  on_taken(fmt::format("m{}", id));
  loop_.after(kMostTakingSeconds * random_.uniform(), [this, id] {
    if (!leases_.contains(id)) return;
    leases_.erase(id);
    listener_->on_lost(id, {"was preempted"});
    if (leases_.empty() && ended_) ended_({});
  });
}

void SimulatedProvider::release(MachineId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.is_released) return;
  found->second.is_released = true;
  loop_.after(kMostReleaseSeconds - random_.uniform(), [this, id] { finish(id); });
}

void SimulatedProvider::finish(MachineId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.is_taken) return;  // its loss is on its way
  leases_.erase(found);
  listener_->on_released(id);
  if (leases_.empty() && ended_) ended_({});
}

void SimulatedProvider::end(EndDone done) {
  ended_ = std::move(done);
  for (const auto& [id, lease] : std::map(leases_)) release(id);
  if (leases_.empty()) loop_.post([this] { ended_({}); });
}

}  // namespace scavenger::elastic
