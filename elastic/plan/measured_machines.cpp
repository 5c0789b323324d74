#include "elastic/plan/measured_machines.h"

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

// Seconds per iteration, as if machines like the others had been in the place of the slow ones.
RobustMean without_slow(const PhaseNumbers& phase, std::span<const SlowMachine> slow,
                        perfmodel::Sharing sharing) {
  RobustMean seconds = phase.iteration_seconds.robust_mean();
  for (const SlowMachine& one : slow) {
    if (!one.is_in(phase)) continue;
    const double left = 1.0 - saving_without_slow(phase, one.worker, one.slowdown, sharing);
    seconds.mean *= left;
    seconds.standard_error *= left;
  }
  return seconds;
}

// Whether the iterations last longer than before, when all but this worker trained with the same B,
// and by more than chance explains.
bool lengthens(std::uint32_t worker, const PhaseNumbers& phase,
               std::span<const PhaseNumbers> before) {
  constexpr double kLonger = 1.1, kClear = 3.0;
  std::vector<std::uint32_t> others = phase.membership.indices;
  std::erase(others, worker);
  const auto is_without = [&](const PhaseNumbers& one) {
    return one.membership.indices == others &&
           one.membership.batch_size == phase.membership.batch_size && is_measured(one);
  };
  const auto found = std::find_if(before.rbegin(), before.rend(), is_without);
  if (found == before.rend()) return false;
  const RobustMean with = phase.iteration_seconds.robust_mean();
  const RobustMean without = found->iteration_seconds.robust_mean();
  return with.mean > kLonger * without.mean &&
         with.mean - without.mean >
             kClear * std::hypot(with.standard_error, without.standard_error);
}

// Whether no other member is of its type.
bool is_only_one(std::uint32_t worker, const fact::Membership& membership,
                 const std::map<std::uint32_t, std::string>& types) {
  return std::ranges::none_of(membership.indices, [&](std::uint32_t other) {
    const auto type = types.find(other);
    return other != worker && type != types.end() && type->second == types.at(worker);
  });
}

// What all memberships tell, by configuration.
struct Means {
  std::map<Key, Mean> iterations, compute, lengthened;
  std::map<Key, Mean> calculated;  // iterations, with a slow machine among them

  void add_compute(const WorkerNumbers& worker, const std::string& type) {
    compute[{type, {1.0, worker.share}}].add(worker.compute_seconds.robust_mean(),
                                             worker.compute_seconds.moments().count());
  }
  void add_iterations(const PhaseNumbers& phase, const std::string& type,
                      std::span<const SlowMachine> slow, perfmodel::Sharing sharing) {
    const bool has_slow =
        std::ranges::any_of(slow, [&](const SlowMachine& one) { return one.is_in(phase); });
    (has_slow ? calculated
              : iterations)[{type, {phase.membership.workers, phase.membership.batch_size}}]
        .add(without_slow(phase, slow, sharing), phase.iteration_seconds.moments().count());
  }
  void add_lengthened(const PhaseNumbers& phase, const WorkerNumbers& worker,
                      const std::string& type) {
    const double workers = phase.membership.workers;
    lengthened[{type, {workers, worker.share * workers}}].add(
        phase.iteration_seconds.robust_mean(), phase.iteration_seconds.moments().count());
  }
};

std::vector<perfmodel::TimeRow> rows_of(const std::map<Key, Mean>& means) {
  std::vector<perfmodel::TimeRow> rows;
  for (const auto& [key, mean] : means)
    rows.push_back({kThisJob, key.first, key.second.first, key.second.second, mean.seconds,
                    mean.standard_error(), mean.iterations});
  return rows;
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

bool is_measured(const PhaseNumbers& phase) {
  return phase.iteration_seconds.moments().count() >= kMeasuredIterations;
}

bool SlowMachine::is_in(const PhaseNumbers& phase) const {
  return is_at(phase.begin_time) && std::ranges::count(phase.membership.indices, worker) > 0;
}

double saving_without_slow(const PhaseNumbers& phase, std::uint32_t worker, double slowdown,
                           perfmodel::Sharing sharing) {
  double slowest = 0.0, slowest_then = 0.0;  // seconds of compute
  double samples = 0.0, speeds = 0.0;        // samples per second, then
  for (const WorkerNumbers& one : phase.workers) {
    if (one.rank >= phase.membership.indices.size() || one.share == 0) continue;
    const double seconds = one.compute_seconds.robust_mean().mean;
    if (!(seconds > 0.0)) return 0.0;
    const bool is_slow = phase.membership.indices[one.rank] == worker;
    const double then = is_slow ? seconds / slowdown : seconds;
    slowest = std::max(slowest, seconds);
    slowest_then = std::max(slowest_then, then);
    samples += one.share;
    speeds += one.share / then;
  }
  const double whole = phase.iteration_seconds.moments().mean();
  if (!(whole > 0.0) || !(speeds > 0.0)) return 0.0;
  const double compute = sharing == perfmodel::Sharing::kEven ? slowest_then : samples / speeds;
  return std::clamp((slowest - compute) / whole, 0.0, 1.0 - 1.0 / slowdown);
}

KnownModel measured_machines(const RunNumbers& numbers, std::span<const SlowMachine> slow,
                             perfmodel::Sharing sharing) {
  Means means;
  for (const PhaseNumbers& phase : numbers.phases) {
    if (!is_measured(phase)) continue;
    const std::span<const PhaseNumbers> before(numbers.phases.data(), &phase);
    const auto types = machine_types_at(numbers, phase.begin_time);
    std::set<std::string> there;
    for (const WorkerNumbers& one : phase.workers) {
      if (one.rank >= phase.membership.indices.size()) continue;
      const std::uint32_t worker = phase.membership.indices[one.rank];
      const auto type = types.find(worker);
      const std::uint64_t count = one.compute_seconds.moments().count();
      if (type == types.end() || count < kMeasuredIterations || one.share == 0) continue;
      there.insert(type->second);
      const auto is_this = [&](const SlowMachine& one_slow) {
        return one_slow.worker == worker && one_slow.is_in(phase);
      };
      if (std::ranges::any_of(slow, is_this)) continue;
      means.add_compute(one, type->second);
      if (is_only_one(worker, phase.membership, types) && lengthens(worker, phase, before))
        means.add_lengthened(phase, one, type->second);
    }
    if (there.size() == 1 && phase.workers.size() == phase.membership.workers)
      means.add_iterations(phase, *there.begin(), slow, sharing);
  }
  // What was measured counts alone.
  std::erase_if(means.calculated,
                [&](const auto& mean) { return means.iterations.contains(mean.first); });
  KnownModel known;
  known.title = kThisJob;
  known.record.name = numbers.start.name;
  known.record.signature.samples_per_epoch = numbers.start.samples_per_epoch;
  known.record.signature.parameters = numbers.start.parameter_count;
  if (numbers.model) known.record.signature.parameters = numbers.model->fact.parameter_count;
  known.room_samples = numbers.room_samples();
  for (const auto& timed : numbers.sample_memory.latest)
    known.bytes_per_sample =
        std::max(known.bytes_per_sample.value_or(0), timed.fact.bytes_per_sample);
  known.calculated = rows_of(means.calculated);
  means.iterations.merge(means.calculated);
  known.record.times = rows_of(means.iterations);
  known.record.compute = rows_of(means.compute);
  known.lengthened = rows_of(means.lengthened);
  return known;
}

}  // namespace scavenger::elastic
