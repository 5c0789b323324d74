#include "runtime/provider/lessor.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/net/spawn.h"

namespace scavenger {
namespace {

// Delay after a failure that names no other one.
constexpr double kRetrySeconds = 5.0;

Refusal refusal_of(const Error& error) {
  if (const auto* refused = dynamic_cast<const MachineRefused*>(&error)) return refused->refusal();
  return {RefusalKind::kUnreachable, error.problem(), kRetrySeconds};
}

std::chrono::microseconds microseconds_of(double seconds) {
  return std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
}

}  // namespace

// ---- The provider. ----

void Lessor::begin(ProviderListener& listener, BeginDone done) {
  listener_ = &listener;
  asio::post(io_, [this, done = std::move(done)] { spawn(io_, open_for(done)); });
}

awaitable<void> Lessor::open_for(BeginDone done) {
  std::optional<Refusal> problem;
  try {
    co_await open();
  } catch (const Error& error) {
    problem = refusal_of(error);
  }
  done(problem);
}

void Lessor::end(EndDone done) {
  ended_ = std::move(done);
  for (const auto& [id, lease] : leases_) release(id);
  if (leases_.empty()) finish({});
}

// Forgets the machine; no callback for it follows.
void Lessor::finish(MachineId id) {
  leases_.erase(id);
  if (!ended_ || !leases_.empty()) return;
  asio::post(io_, [this, done = std::exchange(ended_, nullptr)] { spawn(io_, close_for(done)); });
}

awaitable<void> Lessor::close_for(EndDone done) {
  std::vector<std::string> left;
  try {
    left = co_await close();
  } catch (const Error& error) {
    left = {error.what()};
  }
  done(left);
}

// ---- One machine. ----

void Lessor::request(MachineId id, const MachineRequest& request) {
  auto lease = std::make_shared<Lease>(io_);
  leases_[id] = lease;
  asio::post(io_, [this, id, request, lease] { spawn(io_, serve(id, request, lease)); });
}

void Lessor::release(MachineId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  found->second->is_released = true;
  found->second->change.cancel();
}

void Lessor::abandon(MachineId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  found->second->is_abandoned = true;
  release(id);
}

bool Lessor::is_abandoned(MachineId id) const {
  const auto found = leases_.find(id);
  return found != leases_.end() && found->second->is_abandoned;
}

void Lessor::judge(MachineId id, MachineLoss loss) {
  if (is_abandoned(id) && leases_.at(id)->is_ready) leases_.at(id)->lost = std::move(loss);
}

bool Lessor::is_wanted(MachineId id) const {
  const auto found = leases_.find(id);
  return found != leases_.end() && !found->second->is_released && !found->second->lost;
}

awaitable<void> Lessor::pause(MachineId id, double seconds) {
  if (!is_wanted(id)) co_return;
  const std::shared_ptr<Lease> lease = leases_.at(id);
  lease->change.expires_after(microseconds_of(seconds));
  const auto quietly = asio::as_tuple(use_awaitable);
  co_await lease->change.async_wait(quietly);
}

awaitable<void> Lessor::rest(double seconds) {
  asio::steady_timer timer(io_, microseconds_of(seconds));
  co_await timer.async_wait(use_awaitable);
}

void Lessor::tell_notice(MachineId id, const MachineNotice& notice) {
  if (is_wanted(id) && leases_.at(id)->is_ready) listener_->on_notice(id, notice);
}

void Lessor::tell_delayed(MachineId id, const Refusal& refusal) {
  if (is_wanted(id) && !leases_.at(id)->is_ready) listener_->on_delayed(id, refusal);
}

void Lessor::lose(MachineId id, MachineLoss loss) {
  if (!is_wanted(id) || !leases_.at(id)->is_ready) return;
  leases_.at(id)->lost = std::move(loss);
  leases_.at(id)->change.cancel();
}

awaitable<void> Lessor::serve(MachineId id, MachineRequest request, std::shared_ptr<Lease> lease) {
  std::optional<Refusal> refusal;
  Machine machine;
  try {
    if (is_wanted(id)) machine = co_await obtain(id, request);
  } catch (const Error& error) {
    refusal = refusal_of(error);
  }
  if (!refusal && is_wanted(id)) {
    lease->is_ready = true;
    listener_->on_ready(id, machine);
    const auto quietly = asio::as_tuple(use_awaitable);
    while (is_wanted(id)) {
      lease->change.expires_at(asio::steady_timer::time_point::max());
      co_await lease->change.async_wait(quietly);
    }
  }
  const bool is_refused = refusal && is_wanted(id);
  const bool is_told = lease->lost.has_value();
  if (is_told) listener_->on_lost(id, *lease->lost);
  try {
    co_await give_back(id);
  } catch (const Error& error) {
    log_warning("a machine could not be given back: {}", error.what());
  }
  if (is_refused)
    listener_->on_refused(id, *refusal);
  else if (!lease->lost)
    listener_->on_released(id);
  else if (!is_told)
    listener_->on_lost(id, *lease->lost);
  finish(id);
}

}  // namespace scavenger
