#include "elastic/vms/vm_race_numbers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace scavenger::elastic {
namespace {

using Key = std::pair<std::string, std::pair<double, double>>;  // type, workers, batch

// Means that were measured of one configuration, each with its weight.
struct Mean {
  double seconds = 0.0;
  double iterations = 0.0;
  double squared_error = 0.0;  // iterations^2 x standard error^2

  void add(const RobustMean& mean, std::uint64_t count) {
    const auto n = static_cast<double>(count);
    seconds = (seconds * iterations + mean.mean * n) / (iterations + n);
    squared_error += mean.standard_error * mean.standard_error * n * n;
    iterations += n;
  }
  double standard_error() const { return std::sqrt(squared_error) / iterations; }
};

std::size_t changes_since(const RunNumbers& numbers, std::uint32_t worker, double time,
                          fact::MachineChange change) {
  const auto& all = numbers.machines.latest;
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const auto& timed) {
    return timed.time >= time && timed.fact.worker == worker && timed.fact.change == change;
  }));
}

}  // namespace

std::map<std::uint32_t, std::string> machine_types_at(const RunNumbers& numbers, double time) {
  std::map<std::uint32_t, std::string> types;
  for (const auto& timed : numbers.machines.latest) {
    if (timed.time > time) break;
    if (timed.fact.change == fact::MachineChange::kReady)
      types[timed.fact.worker] = timed.fact.machine_type;
  }
  return types;
}

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

bool is_measured(const PhaseNumbers& phase) {
  return phase.iteration_seconds.moments().count() >= kMeasuredIterations;
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

KnownModel measured_machines(const RunNumbers& numbers) {
  std::map<Key, Mean> iterations, compute;
  for (const PhaseNumbers& phase : numbers.phases) {
    if (!is_measured(phase)) continue;
    const auto types = machine_types_at(numbers, phase.begin_time);
    std::set<std::string> there;
    for (const WorkerNumbers& one : phase.workers) {
      if (one.rank >= phase.membership.indices.size()) continue;
      const auto type = types.find(phase.membership.indices[one.rank]);
      const std::uint64_t count = one.compute_seconds.moments().count();
      if (type == types.end() || count < kMeasuredIterations || one.share == 0) continue;
      there.insert(type->second);
      compute[{type->second, {1.0, one.share}}].add(one.compute_seconds.robust_mean(), count);
    }
    if (there.size() == 1 && phase.workers.size() == phase.membership.workers)
      iterations[{*there.begin(), {phase.membership.workers, phase.membership.batch_size}}].add(
          phase.iteration_seconds.robust_mean(), phase.iteration_seconds.moments().count());
  }
  KnownModel known;
  known.title = "this job";
  known.record.name = numbers.start.name;
  known.record.signature.samples_per_epoch = numbers.start.samples_per_epoch;
  known.record.signature.parameters = numbers.start.parameter_count;
  if (numbers.model) known.record.signature.parameters = numbers.model->fact.parameter_count;
  known.room_samples = numbers.room_samples();
  for (const auto& timed : numbers.sample_memory.latest)
    known.bytes_per_sample =
        std::max(known.bytes_per_sample.value_or(0), timed.fact.bytes_per_sample);
  const auto add = [](const std::map<Key, Mean>& means, std::vector<perfmodel::TimeRow>& rows) {
    for (const auto& [key, mean] : means)
      rows.push_back({"this job", key.first, key.second.first, key.second.second, mean.seconds,
                      mean.standard_error(), mean.iterations});
  };
  add(iterations, known.record.times);
  add(compute, known.compute);
  return known;
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

std::size_t refusals_since(const RunNumbers& numbers, std::uint32_t worker, double time) {
  return changes_since(numbers, worker, time, fact::MachineChange::kRefused);
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
