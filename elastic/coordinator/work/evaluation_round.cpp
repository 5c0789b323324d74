#include "elastic/coordinator/work/evaluation_round.h"

#include <fmt/format.h>

#include <numeric>

#include "elastic/coordinator/job/job_facts.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {

EvaluationRound::EvaluationRound(Split split, std::uint64_t samples, std::uint32_t batch_size,
                                 std::span<const std::uint32_t> shares, double start_seconds)
    : split_(split),
      batch_size_(batch_size),
      start_seconds_(start_seconds),
      parts_(shares.size()),
      arrived_(shares.size()),
      missing_(static_cast<std::uint32_t>(shares.size())) {
  const auto whole = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  std::uint64_t sum = 0;
  for (const std::uint32_t share : shares) {
    sum += share;
    ends_.push_back(samples * sum / whole);
  }
}

Evaluate EvaluationRound::request_for(std::uint32_t rank) const {
  Evaluate request;
  request.split = split_;
  request.first = rank == 0 ? 0 : ends_[rank - 1];
  request.last = ends_[rank];
  request.batch_size = batch_size_;
  return request;
}

bool EvaluationRound::add(std::uint32_t rank, const Evaluated& part) {
  SCAVENGER_CHECK(rank < parts_.size());
  if (arrived_[rank])
    throw ProtocolError({.what = "a worker evaluated its part twice", .where = {}, .remedy = {}});
  const Evaluate request = request_for(rank);
  if (part.sums.samples != request.last - request.first)
    throw ProtocolError({.what = fmt::format("a worker evaluated {} samples in place of {}",
                                             part.sums.samples, request.last - request.first),
                         .where = {},
                         .remedy = {}});
  arrived_[rank] = true;
  parts_[rank] = part.sums;
  return --missing_ == 0;
}

EvaluationSums EvaluationRound::total() const {
  EvaluationSums total;
  for (const EvaluationSums& part : parts_) total += part;
  return total;
}

}  // namespace scavenger::elastic
