// What the search for the machine type costs beyond the best fixed choice, over jobs and types that
// are drawn at random. The whole table (docs/results/machines.md): vms_test "[study]".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/random.h"
#include "test/unit/elastic/vms/race_job.h"

namespace scavenger::elastic {
namespace {

constexpr double kBatch = 256.0;
constexpr double kSamplesPerEpoch = 100000.0;
constexpr double kMostVms = 8.0;

// A core promises the same everywhere, and does not: its speed, its price and its link differ.
std::vector<TrueType> drawn_types(RandomStream& random) {
  std::vector<TrueType> types(5);
  for (std::size_t i = 0; i < types.size(); ++i) {
    TrueType& type = types[i];
    type.name = fmt::format("t{}", i);
    type.cores = std::exp2(std::floor(4.0 * random.uniform()));
    type.speed = type.cores * std::exp(0.35 * random.normal());
    type.price = 0.5 * type.cores * std::exp(0.3 * random.normal());
    type.sync_seconds = 0.02 * std::exp(0.8 * random.normal());
  }
  return types;
}

// As RaceJob trains.
double iteration_seconds(const TrueType& type, double vms) {
  return 0.01 + 0.001 * kBatch / vms / type.speed + type.sync_seconds;
}

// Until the race has settled.
double dollars_so_far(const RaceJob& job, const std::vector<TrueType>& types) {
  std::map<std::uint32_t, double> price_of;  // of each worker's machine
  double dollars = 0.0, per_hour = 0.0, since = 0.0;
  for (const LoggedEvent& logged : job.events()) {
    dollars += (logged.time - since) / 3600.0 * per_hour;
    since = logged.time;
    if (const auto* machine = std::get_if<fact::Machine>(&logged.event))
      price_of[machine->worker] =
          std::ranges::find(types, machine->machine_type, &TrueType::name)->price;
    if (const auto* membership = std::get_if<fact::Membership>(&logged.event)) {
      per_hour = 0.0;
      for (const std::uint32_t worker : membership->indices) per_hour += price_of[worker];
    }
  }
  return dollars;
}

// Beyond the cost, or the time, of the best type and number, as a share of that.
double regret_of(std::uint64_t seed, double iterations, Policy policy) {
  const bool counts_time = policy == Policy::kMinimumTime;
  RandomStream random(seed, "regret", {});
  const std::vector<TrueType> types = drawn_types(random);
  VmRaceSetting setting = setting_of(types, iterations * kBatch / kSamplesPerEpoch);
  setting.policy = policy;
  RaceJob job(types, setting, 2);
  job.run(static_cast<int>(iterations / 5.0));
  const auto machines = job.machines();
  const auto vms = static_cast<double>(machines.size());
  const TrueType& type = *std::ranges::find(types, *machines.begin(), &TrueType::name);
  const double left = std::max(0.0, iterations - static_cast<double>(job.numbers().iterations));
  const auto figure = [&](const TrueType& of, double count, double trained) {
    const double seconds = trained * iteration_seconds(of, count);
    return counts_time ? seconds : seconds * count * of.price / 3600.0;
  };
  double best = std::numeric_limits<double>::infinity();
  for (const TrueType& one : types)
    for (double count = 1.0; count <= kMostVms; ++count)
      best = std::min(best, figure(one, count, iterations));
  const double so_far = counts_time ? job.events().back().time : dollars_so_far(job, types);
  return (so_far + figure(type, vms, left)) / best - 1.0;
}

std::vector<double> regrets_of(std::uint64_t jobs, double iterations, Policy policy) {
  std::vector<double> regrets;
  for (std::uint64_t seed = 0; seed < jobs; ++seed)
    regrets.push_back(regret_of(seed, iterations, policy));
  std::ranges::sort(regrets);
  return regrets;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST_CASE("Jobs too short for auditions gain by trials") {
  // 0.32 without trials of types that were not auditioned.
  CHECK(mean_of(regrets_of(60, 300.0, Policy::kMinimumCost)) < 0.3);
}

TEST_CASE("The regret of jobs and types that are drawn at random", "[.][study]") {
  constexpr std::uint64_t kJobs = 150;
  for (const Policy policy : {Policy::kMinimumCost, Policy::kMinimumTime})
    for (const double iterations : {100.0, 300.0, 1000.0, 3000.0, 10000.0}) {
      const std::vector<double> regrets = regrets_of(kJobs, iterations, policy);
      std::cout << fmt::format("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % |\n", name_of(policy),
                               iterations, 100.0 * mean_of(regrets), 100.0 * regrets[kJobs / 2],
                               100.0 * regrets[kJobs * 9 / 10]);
    }
}

}  // namespace
}  // namespace scavenger::elastic
