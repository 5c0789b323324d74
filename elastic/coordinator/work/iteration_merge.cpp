#include "elastic/coordinator/work/iteration_merge.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

// Every series of the statistics, for what is done to all of them.
std::array<std::vector<double> IterationStats::*, 8> all_series() {
  return {&IterationStats::loss_sum,          &IterationStats::seconds,
          &IterationStats::data_wait_seconds, &IterationStats::forward_seconds,
          &IterationStats::backward_seconds,  &IterationStats::sync_wait_seconds,
          &IterationStats::local_sqr_norm,    &IterationStats::global_sqr_norm};
}

std::vector<double> take_front(std::vector<double>& series, std::size_t count) {
  const auto end = series.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<double> front(series.begin(), end);
  series.erase(series.begin(), end);
  return front;
}

}  // namespace

IterationMerge::IterationMerge(Membership membership) {
  begin(std::move(membership));
}

void IterationMerge::begin(Membership membership) {
  membership_ = std::move(membership);
  pending_.assign(membership_.workers(), {});
  next_ = allowed_ = membership_.first_iteration;
  count_behind();
}

std::uint64_t IterationMerge::reported(std::uint32_t rank) const {
  return next_ + pending_[rank].loss_sum.size();
}

void IterationMerge::add(std::uint32_t rank, const IterationStats& stats) {
  if (rank >= pending_.size() || stats.first != reported(rank))
    throw ProtocolError(
        {.what = "a worker's statistics leave iterations out", .where = {}, .remedy = {}});
  for (const auto series : all_series())
    if ((stats.*series).size() != stats.loss_sum.size())
      throw ProtocolError(
          {.what = "a worker's statistics are of unequal lengths", .where = {}, .remedy = {}});
  if (stats.loss_sum.size() > allowed_ - reported(rank))
    throw ProtocolError({.what = "a worker has done more iterations than it was allowed to",
                         .where = {},
                         .remedy = {}});
  IterationStats& pending = pending_[rank];
  const bool was_behind = pending.loss_sum.size() == least_ && !stats.loss_sum.empty();
  if (pending.loss_sum.empty()) pending.learning_rate = stats.learning_rate;
  for (const auto series : all_series())
    (pending.*series)
        .insert((pending.*series).end(), (stats.*series).begin(), (stats.*series).end());
  pending.half_batches.insert(pending.half_batches.end(), stats.half_batches.begin(),
                              stats.half_batches.end());
  if (was_behind && --behind_ == 0) count_behind();
}

void IterationMerge::count_behind() {
  least_ = SIZE_MAX;
  for (const IterationStats& pending : pending_) least_ = std::min(least_, pending.loss_sum.size());
  behind_ = static_cast<std::size_t>(std::ranges::count_if(
      pending_, [this](const IterationStats& one) { return one.loss_sum.size() == least_; }));
}

// Of the iterations from next_ on that are being merged.
void IterationMerge::take_half_batches(IterationStats& pending, fact::Iterations& merged) const {
  const std::uint64_t end = merged.first + merged.count;
  for (HalfBatchNorms& norms : pending.half_batches)
    if (norms.iteration < end)
      merged.half_batches.push_back({norms.iteration, norms.first_samples, norms.second_samples,
                                     norms.seconds, std::move(norms.first_sqr_norm),
                                     std::move(norms.second_sqr_norm),
                                     std::move(norms.whole_sqr_norm)});
  std::erase_if(pending.half_batches,
                [end](const HalfBatchNorms& norms) { return norms.iteration < end; });
}

std::optional<fact::Iterations> IterationMerge::take() {
  if (pending_.empty() || least_ == 0) return std::nullopt;
  std::vector<std::uint32_t> ranks(pending_.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  fact::Iterations merged = merge(least_, ranks);
  count_behind();
  return merged;
}

std::uint64_t IterationMerge::least_reported() const {
  return pending_.empty() ? next_ : next_ + least_;
}

std::uint64_t IterationMerge::most_reported() const {
  std::uint64_t most = next_;
  for (const IterationStats& pending : pending_)
    most = std::max(most, next_ + pending.loss_sum.size());
  return most;
}

std::vector<fact::Iterations> IterationMerge::close(std::uint64_t until) {
  std::vector<fact::Iterations> series;
  while (next_ < until) {
    // As far as the same workers have reported.
    std::size_t count = until - next_;
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < pending_.size(); ++rank) {
      if (pending_[rank].loss_sum.empty()) continue;
      ranks.push_back(rank);
      count = std::min(count, pending_[rank].loss_sum.size());
    }
    series.push_back(merge(count, ranks));
  }
  for (IterationStats& pending : pending_) pending = {};
  count_behind();
  return series;
}

fact::Iterations IterationMerge::merge(std::size_t count, const std::vector<std::uint32_t>& ranks) {
  fact::Iterations merged;
  merged.membership_epoch = membership_.epoch;
  merged.first = next_;
  merged.count = static_cast<std::uint32_t>(count);
  const double nothing = ranks.empty() ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  merged.learning_rate = ranks.empty() ? nothing : pending_[ranks.front()].learning_rate;
  merged.loss.assign(count, nothing);
  merged.seconds.assign(count, nothing);
  merged.global_sqr_norm.assign(count, nothing);
  std::uint32_t samples = 0;
  for (const std::uint32_t rank : ranks) samples += membership_.shares[rank];
  for (const std::uint32_t rank : ranks) {
    IterationStats& pending = pending_[rank];
    const auto loss_sum = take_front(pending.loss_sum, count);
    const auto seconds = take_front(pending.seconds, count);
    for (std::size_t i = 0; i < count; ++i) {
      merged.loss[i] += loss_sum[i] / samples;
      // Each worker's seconds add up to wall time. Their mean does, too; the longest of them would
      // count twice where one worker learns late that an iteration has ended.
      merged.seconds[i] += seconds[i] / static_cast<double>(ranks.size());
    }
    auto global_sqr_norm = take_front(pending.global_sqr_norm, count);
    if (rank == ranks.front()) merged.global_sqr_norm = std::move(global_sqr_norm);
    take_half_batches(pending, merged);
    merged.workers.push_back(
        {rank, take_front(pending.data_wait_seconds, count),
         take_front(pending.forward_seconds, count), take_front(pending.backward_seconds, count),
         take_front(pending.sync_wait_seconds, count), take_front(pending.local_sqr_norm, count)});
  }
  next_ += count;
  return merged;
}

}  // namespace scavenger::elastic
