// One evaluation of the model: each worker does its part of the split, and the parts add up. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/protocol/control_message.h"

namespace scavenger::elastic {

class EvaluationRound final {
 public:
  // Parts are as large as the workers' shares of the training batch, by rank, so a
  // slower worker has less to do here, too.
  EvaluationRound(Split split, std::uint64_t samples, std::uint32_t batch_size,
                  std::span<const std::uint32_t> shares, double start_seconds);

  Evaluate request_for(std::uint32_t rank) const;
  // True if this was the last part. Throws ProtocolError for a second one of a rank, and if
  // samples are missing.
  bool add(std::uint32_t rank, const Evaluated& part);

  Split split() const { return split_; }
  double start_seconds() const { return start_seconds_; }
  // Summed in rank order, so that bits do not depend on who was first.
  EvaluationSums total() const;

 private:
  Split split_;
  std::uint32_t batch_size_;
  double start_seconds_;
  std::vector<std::uint64_t> ends_;    // of the parts, by rank
  std::vector<EvaluationSums> parts_;  // by rank
  std::vector<bool> arrived_;
  std::uint32_t missing_;
};

}  // namespace scavenger::elastic
