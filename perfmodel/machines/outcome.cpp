#include "perfmodel/machines/outcome.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace scavenger::perfmodel {
namespace {

// What a draw is for; each has a stream of its own.
enum class Stream : std::uint64_t { kModel = 1, kEpochs, kDrift, kVmSpeed, kLemon, kLosses };

// Uniform in (0, 1), from the place of a draw alone (splitmix64, Steele et al. 2014).
double uniform(std::uint64_t seed, Stream stream, std::uint64_t item, std::uint64_t draw) {
  std::uint64_t z = seed;
  for (const std::uint64_t part :
       std::array<std::uint64_t, 3>{static_cast<std::uint64_t>(stream), item, draw}) {
    z += 0x9e3779b97f4a7c15ULL + part * 0xd1342543de82ef95ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    z ^= z >> 31U;
  }
  return (static_cast<double>(z >> 11U) + 0.5) * 0x1.0p-53;
}

// By Box and Muller, from two uniforms.
double normal(std::uint64_t seed, Stream stream, std::uint64_t item, std::uint64_t draw) {
  const double radius = std::sqrt(-2.0 * std::log(uniform(seed, stream, 2 * item, draw)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(seed, stream, 2 * item + 1, draw));
}

// How many events of this mean: by inversion for few, the normal approximation for many.
double poisson(double mean, double uniform_value, double normal_value) {
  if (mean > 30.0) return std::max(0.0, std::round(mean + std::sqrt(mean) * normal_value));
  double probability = std::exp(-mean), below = probability, count = 0.0;
  while (below < uniform_value && count < 1000.0) {
    ++count;
    probability *= mean / count;
    below += probability;
  }
  return count;
}

Quantiles quantiles_of(std::vector<double> values) {
  auto from = values.begin();
  const auto next = [&](double share) {  // of ascending shares
    const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(from, values.begin() + place, values.end());
    from = values.begin() + place;
    return *from;
  };
  Quantiles quantiles;
  quantiles.q10 = next(0.1);
  quantiles.q50 = next(0.5);
  quantiles.q90 = next(0.9);
  return quantiles;
}

}  // namespace

// FNV-1a (Fowler, Noll and Vo).
std::uint64_t type_stream(std::string_view type) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : type) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash >> 1U;  // two uniforms of each stream
}

OutcomeDraws::OutcomeDraws(const SpeedVariance& variance, std::uint64_t seed, std::size_t draws)
    : variance_(variance), seed_(seed), draws_(std::max<std::size_t>(draws, 10)) {}

const OutcomeDraws::Column& OutcomeDraws::normals(std::uint64_t stream, std::uint64_t item) const {
  Column& column = normals_[{stream, item}];
  for (std::size_t draw = column.size(); draw < draws_; ++draw)
    column.push_back(normal(seed_, static_cast<Stream>(stream), item, draw));
  return column;
}

const OutcomeDraws::Column& OutcomeDraws::vm_seconds(std::size_t vm) const {
  Column& column = vm_seconds_[vm];
  for (std::size_t draw = column.size(); draw < draws_; ++draw) {
    double seconds = std::exp(variance_.between_vms * normal(seed_, Stream::kVmSpeed, vm, draw));
    const double lot = uniform(seed_, Stream::kLemon, vm, draw);
    if (lot < variance_.lemon_probability)
      seconds *= variance_.lemon_mildest + (variance_.lemon_worst - variance_.lemon_mildest) * lot /
                                               variance_.lemon_probability;
    column.push_back(seconds);
  }
  return column;
}

const OutcomeDraws::Column& OutcomeDraws::slowdowns(double vms, Sharing sharing) const {
  const auto count = static_cast<std::size_t>(vms);
  Column& column = slowdowns_[{count, sharing}];
  if (!column.empty()) return column;
  Column slowest(draws_, 0.0), quickest(draws_, 0.0), speeds(draws_, 0.0);
  for (std::size_t vm = 0; vm < count; ++vm) {
    const Column& seconds = vm_seconds(vm);
    for (std::size_t draw = 0; draw < draws_; ++draw) {
      slowest[draw] = std::max(slowest[draw], seconds[draw]);
      quickest[draw] = vm == 0 ? seconds[draw] : std::min(quickest[draw], seconds[draw]);
      speeds[draw] += 1.0 / seconds[draw];
    }
  }
  for (std::size_t draw = 0; draw < draws_; ++draw) {
    const double balanced = static_cast<double>(count) / speeds[draw];
    const bool is_even = sharing == Sharing::kEven ||
                         slowest[draw] - quickest[draw] < variance_.dead_band * balanced;
    column.push_back(is_even ? slowest[draw] : balanced);
  }
  return column;
}

double OutcomeDraws::mean_slowdown(double vms, Sharing sharing) const {
  double total = 0.0;
  for (const double slower : slowdowns(vms, sharing)) total += slower;
  return total / static_cast<double>(draws_);
}

Outcome OutcomeDraws::of(const JobOutlook& outlook, const OutcomeLimits& limits) const {
  Outcome outcome;
  std::vector<double> seconds, costs;
  std::size_t in_time = 0, in_cost = 0, in_both = 0;
  const double iteration_spread = variance_.iterations / std::sqrt(outlook.iterations);
  const double drift_spread = std::hypot(variance_.drift, iteration_spread);
  const auto shared = [this](Stream stream, std::uint64_t item) -> const Column& {
    return normals(static_cast<std::uint64_t>(stream), item);
  };
  const Column& epochs = shared(Stream::kEpochs, 0);
  const Column& drift = shared(Stream::kDrift, 0);
  const Column& slower = slowdowns(outlook.vms, outlook.sharing);
  std::vector<const Column*> errors;
  for (const ModelError& one : outlook.errors)
    errors.push_back(&shared(Stream::kModel, one.type_stream));
  for (std::size_t draw = 0; draw < draws_; ++draw) {
    double error = 0.0;
    for (std::size_t i = 0; i < errors.size(); ++i)
      error += outlook.errors[i].log_spread * (*errors[i])[draw];
    error += outlook.log_epochs_spread * epochs[draw] + drift_spread * drift[draw];
    double trained = outlook.iterations * std::exp(outlook.log_iteration_seconds + error) *
                     ((1.0 - outlook.sync_share) * slower[draw] + outlook.sync_share);
    double absent = 0.0;  // VM-seconds that nobody computes in, or pays for
    if (outlook.spot) {
      const double spot_vms = outlook.spot->vms > 0.0 ? outlook.spot->vms : outlook.vms;
      const double mean = spot_vms * (outlook.spot->mean_losses
                                          ? outlook.spot->mean_losses(trained)
                                          : outlook.spot->losses_per_vm_hour * trained / 3600.0);
      const double losses = poisson(mean, uniform(seed_, Stream::kLosses, 0, draw),
                                    normal(seed_, Stream::kLosses, 1, draw));
      absent = losses * outlook.spot->replacement_seconds;
      trained += absent / outlook.vms + losses * outlook.spot->standstill_seconds;
      absent = std::min(absent, spot_vms * trained);
      outcome.losses += losses / static_cast<double>(draws_);
    }
    const double total = outlook.startup_seconds + trained;
    double cost = cluster_cost(total, outlook.vms, outlook.price);
    if (outlook.spot) cost -= absent / 3600.0 * outlook.spot->price_per_hour;
    const bool time_holds = !limits.max_seconds || total <= *limits.max_seconds;
    const bool cost_holds = !limits.max_cost || cost <= *limits.max_cost;
    in_time += time_holds ? 1 : 0;
    in_cost += cost_holds ? 1 : 0;
    in_both += time_holds && cost_holds ? 1 : 0;
    seconds.push_back(total);
    costs.push_back(cost);
  }
  const auto share = [this](std::size_t count) {
    return static_cast<double>(count) / static_cast<double>(draws_);
  };
  outcome.within_time = share(in_time);
  outcome.within_cost = share(in_cost);
  outcome.within_both = share(in_both);
  outcome.seconds = quantiles_of(std::move(seconds));
  outcome.cost = quantiles_of(std::move(costs));
  return outcome;
}

}  // namespace scavenger::perfmodel
