#include "elastic/control/roster.h"

#include <algorithm>

namespace scavenger::elastic {

Roster::Roster(std::uint32_t workers, std::uint32_t shards, double now_seconds) {
  for (std::uint32_t i = 0; i < workers; ++i) start({Role::kWorker, i}, now_seconds);
  for (std::uint32_t i = 0; i < shards; ++i) start({Role::kShard, i}, now_seconds);
}

template <typename Predicate>
std::vector<ProcessName> Roster::those(Predicate is) const {
  std::vector<ProcessName> names;
  for (const auto& [name, process] : processes_)
    if (is(name, process)) names.push_back(name);
  return names;
}

void Roster::start(const ProcessName& process, double now_seconds) {
  Process& started = processes_[process];
  started.life = Life::kStarting;
  started.start_seconds = now_seconds;
  started.settled = started.leaving = started.is_running = started.refused = false;
  started.again_seconds.reset();
}

void Roster::run(const ProcessName& process, double now_seconds) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.life != Life::kStarting) return;
  found->second.is_running = true;
  found->second.start_seconds = now_seconds;
}

void Roster::join(const ProcessName& process) {
  processes_.at(process).life = Life::kJoined;
}

void Roster::settle(const ProcessName& process) {
  Process& settled = processes_.at(process);
  settled.settled = settled.has_weights = true;
  settled.failures = 0;
}

bool Roster::lose(const ProcessName& process, bool with_machine) {
  Process& lost = processes_.at(process);
  if (lost.settled) lost.early_losses = 0;
  if (!lost.settled) ++(with_machine ? lost.failures : lost.early_losses);
  lost.life = lost.early_losses < kEarlyLossLimit ? Life::kGone : Life::kGivenUp;
  set_halting(lost, false);
  lost.has_weights = false;
  return lost.life == Life::kGivenUp;
}

void Roster::refuse(const ProcessName& process) {
  lose(process, true);
  processes_.at(process).refused = true;
}

void Roster::give_up(const ProcessName& process) {
  processes_.at(process).life = Life::kGivenUp;
}

void Roster::defer(const ProcessName& process, double now_seconds, double delay_seconds) {
  Process& deferred = processes_.at(process);
  deferred.life = Life::kGone;
  deferred.again_seconds = now_seconds + delay_seconds;
}

std::vector<ProcessName> Roster::deferred() const {
  return those([](const auto&, const Process& p) {
    return p.life == Life::kGone && p.again_seconds.has_value();
  });
}

std::vector<ProcessName> Roster::deferred_until(double now_seconds) const {
  return those([&](const auto&, const Process& p) {
    return p.life == Life::kGone && p.again_seconds && *p.again_seconds <= now_seconds;
  });
}

std::uint32_t Roster::failures(const ProcessName& process) const {
  return processes_.at(process).failures;
}

void Roster::release(const ProcessName& process) {
  Process& released = processes_.at(process);
  released.life = Life::kReleased;
  set_halting(released, false);
  released.has_weights = false;
}

void Roster::forget(const ProcessName& process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  set_halting(found->second, false);
  processes_.erase(found);
}

void Roster::set_halting(Process& process, bool halting) {
  if (halting && !process.halting) ++halting_;
  if (!halting && process.halting) --halting_;
  process.halting = halting;
}

std::vector<std::uint32_t> Roster::active_workers() const {
  std::vector<std::uint32_t> indices;
  for (const auto& [name, process] : processes_)
    if (name.role == Role::kWorker && process.life != Life::kGivenUp &&
        process.life != Life::kReleased && !process.leaving)
      indices.push_back(name.index);
  return indices;
}

std::uint32_t Roster::free_worker_index() const {
  std::uint32_t index = 0;
  while (processes_.contains({Role::kWorker, index})) ++index;
  return index;
}

bool Roster::expects(const ProcessName& process) const {
  const auto found = processes_.find(process);
  return found != processes_.end() && found->second.life != Life::kGivenUp &&
         found->second.life != Life::kReleased;
}

bool Roster::has_joined(const ProcessName& process) const {
  const auto found = processes_.find(process);
  return found != processes_.end() && found->second.life == Life::kJoined;
}

std::vector<ProcessName> Roster::starting() const {
  return those([](const auto&, const Process& p) { return p.life == Life::kStarting; });
}

std::vector<ProcessName> Roster::gone() const {
  return those([](const auto&, const Process& p) { return p.life == Life::kGone; });
}

std::vector<ProcessName> Roster::joined() const {
  return those([](const auto&, const Process& p) { return p.life == Life::kJoined; });
}

std::vector<std::uint32_t> Roster::joined_workers() const {
  std::vector<std::uint32_t> indices;
  for (const ProcessName& process : joined())
    if (process.role == Role::kWorker) indices.push_back(process.index);
  return indices;
}

bool Roster::is_leaving(const ProcessName& process) const {
  const auto found = processes_.find(process);
  return found != processes_.end() && found->second.leaving;
}

std::vector<std::uint32_t> Roster::staying_workers() const {
  std::vector<std::uint32_t> indices = joined_workers();
  std::erase_if(indices,
                [this](std::uint32_t index) { return is_leaving({Role::kWorker, index}); });
  return indices;
}

bool Roster::all_shards_joined() const {
  return std::ranges::all_of(processes_, [](const auto& entry) {
    return entry.first.role != Role::kShard || entry.second.life == Life::kJoined;
  });
}

std::vector<ProcessName> Roster::late(double seconds, double now_seconds) const {
  return those([&](const auto&, const Process& p) {
    return p.life == Life::kStarting && p.is_running && now_seconds - p.start_seconds > seconds;
  });
}

void Roster::ask_to_halt(const ProcessName& process) {
  set_halting(processes_.at(process), true);
}

bool Roster::halted(const ProcessHalted& answer) {
  Process& process = processes_.at(answer.process);
  if (!process.halting) return false;
  set_halting(process, false);
  process.iteration = answer.iteration;
  process.has_weights = answer.has_weights;
  return true;
}

std::vector<ProcessName> Roster::halting() const {
  return those([](const auto&, const Process& p) { return p.halting; });
}

std::optional<std::uint64_t> Roster::kept_iteration(StateHome home) const {
  const Role holder = home == StateHome::kWorkers ? Role::kWorker : Role::kShard;
  const auto holders = those([&](const ProcessName& name, const Process& process) {
    return name.role == holder && process.life == Life::kJoined && process.has_weights;
  });
  if (holders.empty()) return std::nullopt;
  const auto iterations = [this](const ProcessName& name) { return iteration_of(name); };
  // Any worker has all of the state; of shards, what the last one has finished is complete.
  if (holder == Role::kWorker)
    return iteration_of(*std::ranges::max_element(holders, {}, iterations));
  const auto shards = std::ranges::count_if(
      processes_, [](const auto& entry) { return entry.first.role == Role::kShard; });
  if (std::ssize(holders) < shards) return std::nullopt;
  return iteration_of(*std::ranges::min_element(holders, {}, iterations));
}

}  // namespace scavenger::elastic
