// What the learning rate is multiplied with where optimizer.batch_size_rule is `adascale`: by the
// gradient noise that was logged so far (docs/data.md, "Learning rate").
//
// Pure, and a function of nothing but the events so far: the same log leads to the same decisions,
// whether it is being written, was read back by a resumed job, or is replayed.
#pragma once

#include <cstdint>
#include <optional>

#include "elastic/history/run_numbers.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Whether the noise decides at this batch size: not at the one that the learning rate is for.
bool follows_noise(const OptimizerConfig& optimizer, std::uint32_t batch_size);

// For a batch of `batch_size`, from the next membership on. Requires follows_noise().
fact::RateDecision decide_rate(const OptimizerConfig& optimizer, const RunNumbers& numbers,
                               std::uint32_t batch_size);

// For the batch size that the job has: decides anew, once the noise is known or if it has
// changed enough. Mostly nothing.
std::optional<fact::RateDecision> follow_noise(const OptimizerConfig& optimizer,
                                               const RunNumbers& numbers);

}  // namespace scavenger::elastic
