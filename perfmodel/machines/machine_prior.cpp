#include "perfmodel/machines/machine_prior.h"

#include <cmath>

namespace scavenger::perfmodel {
namespace {

// ln(value / reference); 0 if one is not known.
double log_ratio(const std::optional<double>& value, const std::optional<double>& reference) {
  return value && reference ? std::log(*value / *reference) : 0.0;
}

double squared(double x) {
  return x * x;
}

}  // namespace

ParameterPrior::ParameterPrior(std::span<const MachineFeatures> types, const MachinePriors& priors,
                               double log_seconds, double log_batch, std::size_t reference)
    : priors_(priors) {
  const MachineFeatures& base = types[reference];
  for (std::size_t i = 0; i < types.size(); ++i) {
    const MachineFeatures& type = types[i];
    Position position;
    position.family = type.family.empty() ? type.name : type.family;
    position.has_rate = i == reference || (type.rate && base.rate);
    position.has_link = i == reference || (type.link && base.link);
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
  const double own = squared(priors_.own_spread[parameter]);
  if (p.family == q.family) total += priors_.family_share * own;
  if (a != b) return total;
  const bool is_known = parameter == kLogSync ? p.has_link : p.has_rate;
  return total + (1.0 - priors_.family_share) * own +
         (is_known ? 0.0 : squared(priors_.unknown_spread));
}

}  // namespace scavenger::perfmodel
