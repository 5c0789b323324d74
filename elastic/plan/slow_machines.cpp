#include "elastic/plan/slow_machines.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "elastic/plan/lemon.h"
#include "perfmodel/machines/outcome.h"

namespace scavenger::elastic {
namespace {

// Of a membership. Its machines are held against each other, at one time and with one load of their
// host, so that fewer suffice than for a mean that is held against those of other memberships. The
// first one of a job, whose shares are even, tells most and is soon over.
constexpr std::uint64_t kComparableIterations = 10;

using Machine = std::pair<std::uint32_t, double>;  // worker, and when it got the machine

// Of all machines of one type; WorkerTime::worker is the machine's place among them.
struct TypeTimes {
  std::vector<Machine> machines;
  std::vector<WorkerTime> times;

  std::uint32_t place_of(const Machine& machine) {
    const auto place = std::ranges::find(machines, machine) - machines.begin();
    if (place == std::ssize(machines)) machines.push_back(machine);
    return static_cast<std::uint32_t>(place);
  }
};

std::map<std::string, TypeTimes> times_by_type(const RunNumbers& numbers) {
  std::map<std::string, TypeTimes> all;
  for (const MachineTime& one : machine_times(numbers)) {
    TypeTimes& own = all[one.type];
    own.times.push_back({own.place_of({one.worker, one.since}), one.share, one.seconds.mean,
                         one.seconds.standard_error});
  }
  return all;
}

}  // namespace

double machine_begin(const RunNumbers& numbers, std::uint32_t worker, double time) {
  double begin = 0.0;
  for (const auto& timed : numbers.machines.latest)
    if (timed.time <= time && timed.fact.worker == worker &&
        timed.fact.change == fact::MachineChange::kReady)
      begin = timed.time;
  return begin;
}

double machine_end(const RunNumbers& numbers, std::uint32_t worker, double time) {
  for (const auto& timed : numbers.machines.latest)
    if (timed.time > time && timed.fact.worker == worker &&
        timed.fact.change == fact::MachineChange::kReady)
      return timed.time;
  return std::numeric_limits<double>::infinity();
}

std::vector<MachineTime> machine_times(const RunNumbers& numbers) {
  std::vector<MachineTime> times;
  for (const PhaseNumbers& phase : numbers.phases) {
    const auto types = machine_types_at(numbers, phase.begin_time);
    for (const WorkerNumbers& one : phase.workers) {
      const std::uint64_t count = one.compute_seconds.moments().count();
      if (one.rank >= phase.membership.indices.size() || one.share == 0 ||
          count < kComparableIterations)
        continue;
      const std::uint32_t worker = phase.membership.indices[one.rank];
      const auto type = types.find(worker);
      if (type == types.end()) continue;
      times.push_back({type->second, worker, machine_begin(numbers, worker, phase.begin_time),
                       static_cast<double>(one.share), one.compute_seconds.robust_mean(), count});
    }
  }
  return times;
}

std::vector<SlowMachine> slow_machines_of_run(const RunNumbers& numbers) {
  const double between_vms = perfmodel::SpeedVariance().between_vms;
  std::vector<SlowMachine> slow;
  for (auto& [type, own] : times_by_type(numbers))
    while (const auto lemon = find_lemon(own.times, between_vms)) {
      const auto& [worker, begin] = own.machines[lemon->worker];
      slow.push_back({worker, begin, machine_end(numbers, worker, begin), lemon->slowdown});
      std::erase_if(own.times,
                    [&](const WorkerTime& time) { return time.worker == lemon->worker; });
    }
  return slow;
}

}  // namespace scavenger::elastic
