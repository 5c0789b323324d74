#include "perfmodel/machines/machine_prior.h"

#include <algorithm>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

using Feature = std::optional<double> MachineFeatures::*;

// ln(value / reference); 0 if one is not known.
double log_ratio(const std::optional<double>& value, const std::optional<double>& reference) {
  return value && reference ? std::log(*value / *reference) : 0.0;
}

std::optional<double> median_of(std::span<const MachineFeatures> types, Feature feature) {
  std::vector<double> known;
  for (const MachineFeatures& type : types)
    if (type.*feature) known.push_back(*(type.*feature));
  if (known.empty()) return std::nullopt;
  std::ranges::sort(known);
  return known[(known.size() - 1) / 2];
}

// Root of the mean square of ln(feature / reference).
double log_spread(std::span<const MachineFeatures> types, Feature feature,
                  const std::optional<double>& reference) {
  double sum = 0.0, count = 0.0;
  for (const MachineFeatures& type : types) {
    if (!(type.*feature)) continue;
    sum += std::pow(log_ratio(type.*feature, reference), 2.0);
    count += 1.0;
  }
  return count > 0.0 ? std::sqrt(sum / count) : 0.0;
}

// What is taken for the reference's features.
MachineFeatures assumed(std::span<const MachineFeatures> types, std::size_t reference) {
  MachineFeatures base = types[reference];
  if (!base.link) base.link = median_of(types, &MachineFeatures::link);
  if (base.rate) return base;
  for (const Feature feature :
       {&MachineFeatures::rate, &MachineFeatures::core_rate, &MachineFeatures::memory_bandwidth})
    base.*feature = median_of(types, feature);
  return base;
}

double squared(double x) {
  return x * x;
}

}  // namespace

ParameterPrior::ParameterPrior(std::span<const MachineFeatures> types, const MachinePriors& priors,
                               double log_seconds, double log_batch, std::size_t reference)
    : priors_(priors) {
  const MachineFeatures base = assumed(types, reference);
  if (!types[reference].rate) {
    common_spread_.fill(priors.unknown_spread);
    common_spread_[kLogPerSample] =
        std::max(priors.unknown_spread,
                 priors.rate_exponent.mean * log_spread(types, &MachineFeatures::rate, base.rate));
  }
  common_spread_[kLogSync] = 0.0;
  if (!types[reference].link)
    common_spread_[kLogSync] =
        std::max(priors.unknown_spread,
                 priors.link_exponent.mean * log_spread(types, &MachineFeatures::link, base.link));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const MachineFeatures& type = types[i];
    Position position;
    position.family = type.family.empty() ? type.name : type.family;
    position.is_reference = i == reference;
    position.has_rate = type.rate.has_value();
    position.has_link = type.link.has_value();
    position.rate = log_ratio(type.rate, base.rate);
    if (type.memory_bandwidth && base.memory_bandwidth && position.has_rate)
      position.imbalance = log_ratio(type.memory_bandwidth, base.memory_bandwidth) - position.rate;
    position.core_rate = log_ratio(type.core_rate, base.core_rate);
    position.link = log_ratio(type.link, base.link);
    MachineParameters mean{};
    mean[kLogPerSample] = log_seconds - log_batch - priors.rate_exponent.mean * position.rate -
                          priors.roofline_exponent.mean * position.imbalance;
    mean[kLogBase] = log_seconds - 2.0 - priors.core_exponent.mean * position.core_rate;
    mean[kLogFloor] = log_seconds - 1.0 - priors.core_exponent.mean * position.core_rate;
    mean[kLogHost] = std::log(0.05);
    mean[kLogSync] = log_seconds - 1.0 - priors.link_exponent.mean * position.link;
    means_.push_back(mean);
    positions_.push_back(std::move(position));
  }
}

double ParameterPrior::covariance(MachineParameter parameter, std::size_t a, std::size_t b) const {
  const Position& p = positions_[a];
  const Position& q = positions_[b];
  double total = squared(priors_.level_spread[parameter]);
  if (parameter == kLogPerSample)
    total += squared(priors_.rate_exponent.spread) * p.rate * q.rate +
             squared(priors_.roofline_exponent.spread) * p.imbalance * q.imbalance;
  if (parameter == kLogBase || parameter == kLogFloor)
    total += squared(priors_.core_exponent.spread) * p.core_rate * q.core_rate;
  if (parameter == kLogSync) total += squared(priors_.link_exponent.spread) * p.link * q.link;
  if (!p.is_reference && !q.is_reference && is_known(parameter, a) && is_known(parameter, b))
    total += squared(common_spread_[parameter]);
  const double own = squared(priors_.own_spread[parameter]);
  if (p.family == q.family) total += priors_.family_share * own;
  if (a != b) return total;
  return total + (1.0 - priors_.family_share) * own +
         (p.is_reference || is_known(parameter, a) ? 0.0 : squared(priors_.unknown_spread));
}

bool ParameterPrior::is_known(MachineParameter parameter, std::size_t type) const {
  return parameter == kLogSync ? positions_[type].has_link : positions_[type].has_rate;
}

}  // namespace scavenger::perfmodel
