// Advises on the shares of a batch if batches are dynamic (elastic/batching/batch_controller.h).
#pragma once

#include <utility>

#include "elastic/batching/batch_controller.h"
#include "elastic/coordinator/advice/advisor.h"

namespace scavenger::elastic {

class BatchingAdvisor final : public Advisor {
 public:
  explicit BatchingAdvisor(BatchingSettings settings) : batching_(std::move(settings)) {}

  void recall(const RunEvent& event) override { batching_.observe(event); }
  Advice begin(const JobView& job) override;
  Advice observe(const RunEvent& event, const JobView& job) override;

 private:
  BatchController batching_;
};

}  // namespace scavenger::elastic
