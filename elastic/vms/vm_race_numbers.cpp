#include "elastic/vms/vm_race_numbers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace scavenger::elastic {
namespace {

std::size_t changes_since(const RunNumbers& numbers, std::uint32_t worker, double time,
                          fact::MachineChange change) {
  const auto& all = numbers.machines.latest;
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const auto& timed) {
    return timed.time >= time && timed.fact.worker == worker && timed.fact.change == change;
  }));
}

}  // namespace

std::set<std::uint32_t> spot_workers_at(const RunNumbers& numbers, double time) {
  std::set<std::uint32_t> workers;
  for (const auto& timed : numbers.machines.latest) {
    if (timed.time > time) break;
    if (timed.fact.change != fact::MachineChange::kReady) continue;
    if (timed.fact.spot)
      workers.insert(timed.fact.worker);
    else
      workers.erase(timed.fact.worker);
  }
  return workers;
}

std::optional<ShareTime> share_time(const RunNumbers& numbers, std::uint32_t worker,
                                    std::uint32_t share, double since) {
  for (auto phase = numbers.phases.rbegin(); phase != numbers.phases.rend(); ++phase) {
    if (phase->begin_time < since) return std::nullopt;
    if (!is_measured(*phase)) continue;
    std::optional<ShareTime> found;
    double others = 0.0;
    for (const WorkerNumbers& one : phase->workers) {
      if (one.rank >= phase->membership.indices.size() ||
          one.compute_seconds.moments().count() == 0)
        continue;
      const double seconds = one.compute_seconds.robust_mean().mean;
      if (phase->membership.indices[one.rank] != worker)
        others = std::max(others, seconds);
      else if (one.share == share)
        found = ShareTime{seconds, 0.0};
    }
    if (!found) continue;
    found->others = others;
    return found;
  }
  return std::nullopt;
}

std::optional<double> mean_start_seconds(const RunNumbers& numbers) {
  std::map<std::uint32_t, double> requested;  // by worker
  double sum = 0.0, count = 0.0;
  for (const auto& timed : numbers.machines.latest) {
    if (timed.fact.change == fact::MachineChange::kRequested)
      requested[timed.fact.worker] = timed.time;
    if (timed.fact.change != fact::MachineChange::kReady) continue;
    if (const auto request = requested.extract(timed.fact.worker)) {
      sum += timed.time - request.mapped();
      ++count;
    }
  }
  return count > 0.0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> standstill_seconds(const RunNumbers& numbers) {
  constexpr double kPausesOfLoss = 2.0;  // the worker goes, and another one comes
  const RunningMoments& pauses = numbers.recoveries.seconds.moments();
  if (pauses.count() == 0) return std::nullopt;
  return kPausesOfLoss * pauses.mean();
}

std::size_t refused_workers_since(const RunNumbers& numbers, const std::string& type, double time,
                                  std::size_t refusals) {
  std::map<std::uint32_t, std::size_t> refused;  // how often, by worker
  for (const auto& [when, machine] : numbers.machines.latest) {
    if (when < time || machine.machine_type != type) continue;
    if (machine.change == fact::MachineChange::kRefused) ++refused[machine.worker];
    if (machine.change == fact::MachineChange::kReady) refused.erase(machine.worker);
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(refused, [&](const auto& entry) { return entry.second >= refusals; }));
}

bool was_lost_since(const RunNumbers& numbers, std::uint32_t worker, double time) {
  const auto trained = [&](const PhaseNumbers& phase) {
    return phase.begin_time >= time && std::ranges::count(phase.membership.indices, worker) > 0;
  };
  const bool trains = !numbers.phases.empty() &&
                      std::ranges::count(numbers.phases.back().membership.indices, worker) > 0;
  return !trains && (changes_since(numbers, worker, time, fact::MachineChange::kLost) > 0 ||
                     std::ranges::any_of(numbers.phases, trained));
}

std::string commonest_type(const std::vector<std::uint32_t>& workers,
                           const std::map<std::uint32_t, std::string>& types) {
  std::map<std::string, std::size_t> counts;
  std::string commonest;
  for (const std::uint32_t worker : workers) {
    const auto found = types.find(worker);
    if (found == types.end()) continue;
    if (++counts[found->second] > counts[commonest]) commonest = found->second;
  }
  return commonest;
}

}  // namespace scavenger::elastic
