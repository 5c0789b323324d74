// Advises on the learning rate at the batch size that the job has (elastic/rate/rate_rule.h).
#pragma once

#include <cstdint>
#include <vector>

#include "elastic/coordinator/advice/advisor.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// A factor of the learning rate, and what is to be logged of how it was found.
struct RateFactor {
  double factor = 1.0;
  std::vector<RunEvent> events;
};

class RateAdvisor final : public Advisor {
 public:
  // `factor_is_kept`: a checkpoint of the same B says what the first membership's factor is.
  RateAdvisor(const OptimizerConfig& optimizer, bool factor_is_kept)
      : optimizer_(optimizer), factor_is_kept_(factor_is_kept) {}

  // Before the first membership. A job that goes on with another B, or begins with one that its
  // learning rate is not for, goes by the noise that its log knows.
  Advice begin(const JobView& job) override;
  // Only measurements count, and only if no other B or factor is on its way.
  Advice observe(const RunEvent& event, const JobView& job) override;

  // For a batch of this size, from the next membership on.
  RateFactor factor_for(std::uint32_t batch_size, const RunNumbers& numbers) const;

 private:
  const OptimizerConfig optimizer_;
  const bool factor_is_kept_;
};

}  // namespace scavenger::elastic
