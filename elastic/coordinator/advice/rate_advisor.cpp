#include "elastic/coordinator/advice/rate_advisor.h"

#include <fmt/format.h>

#include <utility>

#include "elastic/rate/rate_rule.h"
#include "runtime/config/learning_rate.h"

namespace scavenger::elastic {

RateFactor RateAdvisor::factor_for(std::uint32_t batch_size, const RunNumbers& numbers) const {
  if (!follows_noise(optimizer_, batch_size))
    return {batch_size_factor(optimizer_, batch_size), {}};
  const fact::RateDecision decision = decide_rate(optimizer_, numbers, batch_size);
  RateFactor rate{decision.factor, {}};
  rate.events.emplace_back(decision);
  return rate;
}

Advice RateAdvisor::begin(const JobView& job) {
  if (factor_is_kept_) return {};
  const std::uint32_t batch_size = job.controller.wanted_batch_size();
  RateFactor rate = factor_for(batch_size, job.numbers);
  Advice advice;
  advice.events = std::move(rate.events);
  advice.wishes.emplace_back(RateFactorWanted{batch_size, rate.factor, {}});
  return advice;
}

Advice RateAdvisor::observe(const RunEvent& event, const JobView& job) {
  if (!is_measurement(event)) return {};
  const Membership& membership = job.controller.membership();
  if (job.controller.wanted_batch_size() != membership.batch_size ||
      job.controller.wanted_rate_factor() != membership.rate_factor)
    return {};
  const auto decision = follow_noise(optimizer_, job.numbers);
  if (!decision || decision->batch_size != membership.batch_size) return {};
  Advice advice;
  advice.events.emplace_back(*decision);
  advice.wishes.emplace_back(RateFactorWanted{
      decision->batch_size, decision->factor,
      fmt::format("learning rate x {:.4g}: the gradient noise has changed", decision->factor)});
  return advice;
}

}  // namespace scavenger::elastic
