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

void Roster::count(const ProcessName& name, const Process& process, bool is_added) {
  const auto add = [is_added](std::size_t& total, bool counts) {
    if (counts && is_added) ++total;
    if (counts && !is_added) --total;
  };
  const bool is_worker = name.role == Role::kWorker;
  const bool has_joined = process.life == Life::kJoined;
  add(counts_.starting, process.life == Life::kStarting);
  add(counts_.deferred, process.life == Life::kGone && process.again_seconds.has_value());
  add(counts_.joined_workers, is_worker && has_joined);
  add(counts_.staying_workers, is_worker && has_joined && !process.leaving);
  add(counts_.absent_shards, !is_worker && !has_joined);
  add(counts_.halting, process.halting);
}

template <typename Change>
void Roster::change(const ProcessName& name, Change change) {
  Process& process = processes_.at(name);
  count(name, process, false);
  change(process);
  count(name, process, true);
}

void Roster::start(const ProcessName& name, double now_seconds) {
  const auto [place, is_new] = processes_.try_emplace(name);
  if (is_new) count(name, place->second, true);
  change(name, [&](Process& process) {
    process.life = Life::kStarting;
    process.start_seconds = now_seconds;
    process.settled = process.leaving = process.is_running = process.refused = false;
    process.waits = false;
    process.again_seconds.reset();
  });
}

void Roster::run(const ProcessName& name, double now_seconds) {
  const auto found = processes_.find(name);
  if (found == processes_.end() || found->second.life != Life::kStarting) return;
  change(name, [&](Process& process) {
    process.is_running = true;
    process.start_seconds = now_seconds;
  });
}

void Roster::join(const ProcessName& name) {
  change(name, [](Process& process) { process.life = Life::kJoined; });
}

void Roster::settle(const ProcessName& name) {
  change(name, [](Process& process) {
    process.settled = process.has_weights = true;
    process.waits = false;
    process.failures = 0;
  });
}

bool Roster::lose(const ProcessName& name, bool with_machine) {
  change(name, [&](Process& process) {
    if (process.settled) process.early_losses = 0;
    if (!process.settled) ++(with_machine ? process.failures : process.early_losses);
    process.life = process.early_losses < kEarlyLossLimit ? Life::kGone : Life::kGivenUp;
    process.halting = process.has_weights = false;
  });
  return processes_.at(name).life == Life::kGivenUp;
}

void Roster::refuse(const ProcessName& name) {
  lose(name, true);
  change(name, [](Process& process) { process.refused = true; });
}

void Roster::give_up(const ProcessName& name) {
  change(name, [](Process& process) { process.life = Life::kGivenUp; });
}

void Roster::defer(const ProcessName& name, double now_seconds, double delay_seconds) {
  change(name, [&](Process& process) {
    process.life = Life::kGone;
    process.again_seconds = now_seconds + delay_seconds;
  });
}

bool Roster::is_deferred(const ProcessName& process) const {
  const auto found = processes_.find(process);
  return found != processes_.end() && found->second.life == Life::kGone &&
         found->second.again_seconds.has_value();
}

std::vector<ProcessName> Roster::deferred_until(double now_seconds) const {
  return those([&](const auto&, const Process& p) {
    return p.life == Life::kGone && p.again_seconds && *p.again_seconds <= now_seconds;
  });
}

std::uint32_t Roster::failures(const ProcessName& process) const {
  return processes_.at(process).failures;
}

void Roster::wait(const ProcessName& name) {
  change(name, [](Process& process) {
    process.waits = true;
    process.has_weights = false;
  });
}

void Roster::release(const ProcessName& name) {
  change(name, [](Process& process) {
    process.life = Life::kReleased;
    process.halting = process.has_weights = false;
  });
}

void Roster::leave(const ProcessName& name) {
  change(name, [](Process& process) { process.leaving = true; });
}

void Roster::forget(const ProcessName& name) {
  const auto found = processes_.find(name);
  if (found == processes_.end()) return;
  count(name, found->second, false);
  processes_.erase(found);
}

std::vector<std::uint32_t> Roster::active_workers() const {
  std::vector<std::uint32_t> indices;
  for (const auto& [name, process] : processes_)
    if (name.role == Role::kWorker && process.life != Life::kGivenUp &&
        process.life != Life::kReleased && !process.leaving)
      indices.push_back(name.index);
  return indices;
}

std::uint32_t Roster::free_worker_index(std::uint32_t from) const {
  std::uint32_t index = from;
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

bool Roster::is_starting(const ProcessName& process) const {
  const auto found = processes_.find(process);
  return found != processes_.end() && found->second.life == Life::kStarting;
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

std::vector<ProcessName> Roster::late(double seconds, double now_seconds) const {
  return those([&](const auto&, const Process& p) {
    return p.life == Life::kStarting && p.is_running && now_seconds - p.start_seconds > seconds;
  });
}

bool Roster::is_any_coming(double seconds, double now_seconds) const {
  const auto is = [&](const auto& entry) {
    const Process& process = entry.second;
    return process.life == Life::kStarting &&
           (process.is_running || now_seconds - process.start_seconds < seconds);
  };
  return std::ranges::any_of(processes_, is);
}

void Roster::ask_to_halt(const ProcessName& name) {
  change(name, [](Process& process) { process.halting = true; });
}

bool Roster::halted(const ProcessHalted& answer) {
  if (!processes_.at(answer.process).halting) return false;
  change(answer.process, [&](Process& process) {
    process.halting = false;
    process.iteration = answer.iteration;
    process.has_weights = answer.has_weights && !process.waits;
  });
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
