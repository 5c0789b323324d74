#include "elastic/plan/lemon.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace scavenger::elastic {
namespace {

constexpr double kMeasurementSpread = 0.02;  // of ln(seconds), beside the stated error
constexpr int kFixedParts = 11;              // that are tried: 0, 0.1, ..., 1
// Powers of the share that are tried, too. Seconds grow faster than the share where a larger one
// leaves the cache, or uses up what a rationed processor may do at full speed.
constexpr int kPowers = 10;  // 1.1, 1.2, ..., 2
// Half the chi-square distance within which a law is plausible.
constexpr double kPlausible = 2.0;
constexpr double kDeviations = 3.0;
constexpr double kLeastSlowdown = 1.15;

struct Level {  // of one worker: the mean of ln(seconds) beside the law
  double mean = 0.0;
  double variance = 0.0;
};

struct Law {
  std::map<std::uint32_t, Level> levels;  // by worker
  double misfit = 0.0;                    // of a worker's times among each other
};

double variance_of(const WorkerTime& time) {
  const double relative = time.standard_error / time.seconds;
  return kMeasurementSpread * kMeasurementSpread + relative * relative;
}

// How seconds depend on the share: the part `fixed` of those at `typical` samples is there for any
// share, and the rest grows with this power of it.
struct Shape {
  double typical = 1.0;
  double fixed = 0.0;
  double power = 1.0;
};

Law law_of(std::span<const WorkerTime> times, const Shape& shape) {
  const auto departure = [&](const WorkerTime& time) {
    const double growth = std::pow(time.share / shape.typical, shape.power);
    return std::log(time.seconds) - std::log(shape.fixed + (1.0 - shape.fixed) * growth);
  };
  Law law;
  std::map<std::uint32_t, double> weights;
  for (const WorkerTime& time : times) {
    const double weight = 1.0 / variance_of(time);
    law.levels[time.worker].mean += weight * departure(time);
    weights[time.worker] += weight;
  }
  for (auto& [worker, level] : law.levels) {
    level.mean /= weights[worker];
    level.variance = 1.0 / weights[worker];
  }
  for (const WorkerTime& time : times) {
    const double error = departure(time) - law.levels.at(time.worker).mean;
    law.misfit += 0.5 * error * error / variance_of(time);
  }
  return law;
}

std::vector<Law> laws_of(std::span<const WorkerTime> times) {
  double log_shares = 0.0;
  for (const WorkerTime& time : times) log_shares += std::log(time.share);
  const double typical = std::exp(log_shares / static_cast<double>(times.size()));
  std::vector<Law> laws;
  for (int i = 0; i < kFixedParts; ++i)
    laws.push_back(
        law_of(times, {.typical = typical, .fixed = static_cast<double>(i) / (kFixedParts - 1)}));
  for (int i = 1; i <= kPowers; ++i)
    laws.push_back(law_of(times, {.typical = typical, .power = 1.0 + 0.1 * i}));
  return laws;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

struct Others {
  double level = 0.0;  // their median
  // Standard deviation, by the median of their distances from that. Two say nothing of it: 0.
  double scatter = 0.0;
};

Others others_of(const Law& law, std::uint32_t worker) {
  constexpr double kNormalScatter = 1.4826;
  std::vector<double> levels, distances;
  for (const auto& [other, level] : law.levels)
    if (other != worker) levels.push_back(level.mean);
  Others others{median(levels)};
  for (const double level : levels) distances.push_back(std::abs(level - others.level));
  if (levels.size() > 2) others.scatter = kNormalScatter * median(distances);
  return others;
}

}  // namespace

std::optional<Lemon> find_lemon(std::span<const WorkerTime> times, double between_vms) {
  std::vector<WorkerTime> usable;
  for (const WorkerTime& time : times)
    if (time.seconds > 0.0 && time.share > 0.0) usable.push_back(time);
  if (usable.empty()) return std::nullopt;
  const std::vector<Law> laws = laws_of(usable);
  const std::size_t workers = laws.front().levels.size();
  if (workers < 2) return std::nullopt;
  const double least = std::ranges::min(laws, {}, &Law::misfit).misfit;

  std::optional<Lemon> slowest;
  for (const auto& [worker, level] : laws.front().levels) {
    double excess = std::numeric_limits<double>::infinity(), variance = 0.0, between = 0.0;
    for (const Law& law : laws) {
      if (law.misfit > least + kPlausible) continue;
      const Others others = others_of(law, worker);
      const double here = law.levels.at(worker).mean - others.level;
      if (here >= excess) continue;
      excess = here;
      variance = law.levels.at(worker).variance;
      between = std::max(between_vms, others.scatter);
    }
    const auto others = static_cast<double>(workers - 1);
    const double error = std::sqrt(variance + between * between * (1.0 + 1.0 / others));
    if (excess < kDeviations * error || excess < std::log(kLeastSlowdown)) continue;
    if (!slowest || std::exp(excess) > slowest->slowdown)
      slowest = Lemon{worker, std::exp(excess), error};
  }
  return slowest;
}

}  // namespace scavenger::elastic
