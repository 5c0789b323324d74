#include "perfmodel/time/mixed_cluster.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

[[noreturn]] void refuse(const char* what, const char* remedy) {
  throw DataError({.what = what, .where = "mixed cluster", .remedy = remedy});
}

void check(std::span<const MachineGroup> groups, double workers, double global_batch) {
  if (groups.empty()) refuse("there are no machines", "name one group at least");
  const auto is_positive = [](double number) { return std::isfinite(number) && number > 0.0; };
  for (const MachineGroup& group : groups)
    if (!is_positive(group.workers) || !is_positive(group.speed) || !is_positive(group.link) ||
        !(group.price_per_hour >= 0.0))
      refuse("a group's workers, speed or link is not positive, or its price is negative",
             "speeds and links are relative to the machines that were measured: 1 is alike");
  if (!is_positive(global_batch) || workers > global_batch)
    refuse("there are more workers than samples in a batch",
           "use a larger batch, or fewer workers");
}

// Shares with which all take the same time, (a + c b) / speed, but none less than a sample.
std::vector<double> dynamic_shares(std::span<const MachineGroup> groups, double base,
                                   double per_sample, double global_batch) {
  std::vector<double> shares(groups.size());
  std::vector<bool> at_least(groups.size());
  for (bool settled = false; !settled;) {
    double left = global_batch, base_sum = 0.0, speeds = 0.0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (at_least[g]) {
        left -= groups[g].workers;
        continue;
      }
      base_sum += groups[g].workers * base;
      speeds += groups[g].workers * groups[g].speed;
    }
    const double seconds = speeds > 0.0 ? (base_sum + per_sample * left) / speeds : 0.0;
    settled = true;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      shares[g] = at_least[g] ? 1.0 : (seconds * groups[g].speed - base) / per_sample;
      if (shares[g] >= 1.0) continue;
      at_least[g] = true;
      settled = false;
    }
  }
  return shares;
}

}  // namespace

MixedPrediction predict_mixed(const TimeModel& model, std::span<const MachineGroup> groups,
                              double global_batch, Sharing sharing) {
  MixedPrediction prediction;
  double workers = 0.0, slowest_link = std::numeric_limits<double>::infinity();
  for (const MachineGroup& group : groups) {
    workers += group.workers;
    slowest_link = std::min(slowest_link, group.link);
    prediction.price_per_hour += group.workers * group.price_per_hour;
  }
  check(groups, workers, global_batch);
  const Configuration configuration{workers, global_batch};
  TimeParameters parameters = model.best().parameters();
  const double base = parameters[kComputeBase], per_sample = parameters[kComputePerSample];
  prediction.shares.assign(groups.size(), configuration.local_batch());
  if (sharing == Sharing::kDynamic && per_sample > 0.0)
    prediction.shares = dynamic_shares(groups, base, per_sample, global_batch);

  // The longest of the workers' times is that of alike machines of this speed.
  double longest = 0.0;
  for (std::size_t g = 0; g < groups.size(); ++g)
    longest = std::max(longest, (base + per_sample * prediction.shares[g]) / groups[g].speed);
  const double alike = base + per_sample * configuration.local_batch();
  const double slowdown = alike > 0.0 ? longest / alike : 1.0;
  const double as_measured = evaluate(model.best().form(), parameters, configuration).seconds;
  for (const TimeParameter compute : {kComputeBase, kComputePerSample, kComputeFloor})
    parameters[compute] *= slowdown;
  for (const TimeParameter sync : {kSyncBase, kSyncSlope, kSyncPerSample})
    parameters[sync] /= slowest_link;
  const double mixed = evaluate(model.best().form(), parameters, configuration).seconds;
  prediction.seconds = model.seconds(configuration) * mixed / as_measured;
  return prediction;
}

double MachinePool::size() const {
  double sum = 0.0;
  for (const MachineGroup& group : groups) sum += group.workers;
  return sum;
}

std::vector<MachineGroup> MachinePool::first(double workers) const {
  std::vector<MachineGroup> machines;
  double left = workers;
  for (const MachineGroup& group : groups) {
    if (!(left > 0.0)) break;
    machines.push_back(group);
    machines.back().workers = std::min(left, group.workers);
    left -= machines.back().workers;
  }
  if (left > 0.0) refuse("there are fewer machines than workers", "name more, or fewer workers");
  return machines;
}

std::vector<TimeObservation> with_slowdowns(std::span<const TimeObservation> observations,
                                            const MachinePool& pool) {
  std::vector<TimeObservation> result(observations.begin(), observations.end());
  for (TimeObservation& observation : result) {
    double slowest = std::numeric_limits<double>::infinity(), speeds = 0.0;
    for (const MachineGroup& group : pool.first(observation.configuration.workers)) {
      slowest = std::min(slowest, group.speed);
      speeds += group.workers * group.speed;
    }
    observation.configuration.slowdown =
        pool.sharing == Sharing::kEven ? 1.0 / slowest : observation.configuration.workers / speeds;
  }
  return result;
}

}  // namespace scavenger::perfmodel
