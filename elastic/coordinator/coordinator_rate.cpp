// The coordinator's part that decides what becomes of the learning rate at another batch size.
#include <fmt/format.h>

#include <utility>

#include "elastic/coordinator/coordinator.h"
#include "elastic/rate/rate_rule.h"
#include "runtime/config/learning_rate.h"

namespace scavenger::elastic {

// Before the first membership. A checkpoint of the same B says it; a job that goes on with another,
// or begins with one that its learning rate is not for, goes by the noise that its log knows.
void Coordinator::settle_rate() {
  if (kept_rate_factor(start_)) return;
  const std::uint32_t batch_size = controller_.wanted_batch_size();
  feed(RateFactorWanted{batch_size, rate_factor_for(batch_size), {}});
}

double Coordinator::rate_factor_for(std::uint32_t batch_size) {
  const OptimizerConfig& optimizer = start_.config.optimizer;
  if (!follows_noise(optimizer, batch_size)) return batch_size_factor(optimizer, batch_size);
  const fact::RateDecision decision = decide_rate(optimizer, record_.numbers(), batch_size);
  record_.log(decision);
  return decision.factor;
}

// Only when iterations were logged, and where no other B or factor is on its way.
void Coordinator::follow_noise() {
  const Membership& membership = controller_.membership();
  if (controller_.wanted_batch_size() != membership.batch_size ||
      controller_.wanted_rate_factor() != membership.rate_factor)
    return;
  const auto decision = elastic::follow_noise(start_.config.optimizer, record_.numbers());
  if (!decision || decision->batch_size != membership.batch_size) return;
  record_.log(*decision);
  feed_later(RateFactorWanted{
      decision->batch_size, decision->factor,
      fmt::format("learning rate x {:.4g}: the gradient noise has changed", decision->factor)});
}

}  // namespace scavenger::elastic
