#include "ps/host/device_host_synchroniser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ps/core/reduction.h"
#include "ps/host/host_synchroniser.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::ps {

SyncGroup group_of_host(const SyncGroup& group) {
  SyncGroup host;
  host.membership.epoch = group.membership.epoch;
  host.membership.first_iteration = group.membership.first_iteration;
  for (std::uint32_t rank = 0; rank < group.membership.workers(); ++rank) {
    const bool is_here =
        group.hosts.empty() ? rank == group.rank : group.hosts[rank] == group.hosts[group.rank];
    if (!is_here) continue;
    if (rank == group.rank) host.rank = host.membership.workers();
    host.membership.shares.push_back(group.membership.shares[rank]);
    host.membership.batch_size += group.membership.shares[rank];
  }
  host.shards = {group.host_meeting};
  return host;
}

DeviceHostSynchroniser::DeviceHostSynchroniser(Parts parts, const ChunkLayout& layout,
                                               const Clock& clock, const BucketSizes& buckets)
    : vectors_(std::move(parts.vectors)),
      collective_(std::move(parts.collective)),
      connection_(std::move(parts.connection)),
      layout_(layout),
      clock_(clock),
      sums_(*vectors_, *collective_, layout_, buckets) {}

void DeviceHostSynchroniser::interrupt() {
  sums_.interrupt();
  connection_->interrupt();
}

void DeviceHostSynchroniser::allow() {
  connection_->allow();
  sums_.allow();
}

// ---- Joining. ----

bool DeviceHostSynchroniser::join(const SyncGroup& group, const InitialWeights& initial_weights) {
  const SyncGroup host = group_of_host(group);
  rank_ = host.rank;
  size_ = host.membership.workers();
  sums_.begin_membership(batch_shares(host.membership.shares)[rank_], /*in_one_bucket=*/false);
  return sums_.attempt([&] {
    if (rank_ == 0 && !join_shards(group, initial_weights))
      throw ConnectionError({.what = "the shards cannot be reached: " + connection_->problem(),
                             .where = "first worker of a host",
                             .remedy = {}});
    collective_->join(host);
    if (!is_alone()) collective_->broadcast(weights(), 0);
  });
}

bool DeviceHostSynchroniser::join_shards(const SyncGroup& group,
                                         const InitialWeights& initial_weights) {
  const auto by_way_of_device = [&](std::span<float> in_host_memory) {
    vectors_->clear(0);
    initial_weights(weights());
    vectors_->save(0, 0, 0, in_host_memory);
  };
  if (!connection_->join(contributing(group), by_way_of_device)) return false;
  vectors_->load(0, 0, 0, connection_->weights());
  return true;
}

// ---- An iteration. ----

void DeviceHostSynchroniser::begin(std::uint64_t iteration) {
  sums_.begin_iteration();
  vectors_->begin({.iteration = iteration});
  if (rank_ == 0) connection_->begin(iteration);
}

std::optional<SyncResult> DeviceHostSynchroniser::finish() {
  SCAVENGER_CHECK(sums_.all_ready());
  const double start_seconds = clock_.now_seconds();
  SyncResult result;
  const bool done = !sums_.given_up() && sums_.attempt([&] {
    vectors_->begin_steps();
    for (const FlatRange& bucket : sums_.buckets()) {
      collective_->finish_sum();
      if (rank_ != 0) continue;
      vectors_->save_gradients(bucket.first,
                               connection_->gradients().subspan(bucket.first, bucket.size));
      connection_->gradient_ready(bucket.first, bucket.first + bucket.size);
    }
    // The gradient was waited for, so its norm need not be late.
    const std::optional<GradientNorms> norms = vectors_->finish();
    result.local_gradient_sqr_norm = (norms ? *norms : vectors_->late_norms().norms).local_sqr_norm;
    const double global_sqr_norm = rank_ == 0 ? bring_to_shards() : 0.0;
    result.global_gradient_sqr_norm = hand_round(global_sqr_norm);
    if (!is_alone()) collective_->broadcast(weights(), 0);
  });
  if (!done) return std::nullopt;
  result.wait_seconds = clock_.now_seconds() - start_seconds;
  return result;
}

double DeviceHostSynchroniser::bring_to_shards() {
  const auto result = connection_->finish();
  if (!result)
    throw ConnectionError({.what = "a shard is lost: " + connection_->problem(),
                           .where = "first worker of a host",
                           .remedy = {}});
  vectors_->load(0, 0, 0, connection_->weights());
  return result->global_gradient_sqr_norm;
}

// The gradients are no longer needed, and their memory is where a collective can reach it. A float
// has too few digits: the second one has what the first one lacks.
double DeviceHostSynchroniser::hand_round(double value) {
  if (is_alone()) return value;
  SCAVENGER_CHECK(layout_.flat_size() >= 2);
  std::array<float, 2> parts{static_cast<float>(value), 0.0F};
  parts[1] = static_cast<float>(value - static_cast<double>(parts[0]));
  if (rank_ == 0) vectors_->load_gradients(0, parts);
  collective_->broadcast(gradients().first(2), 0);
  vectors_->save_gradients(0, parts);
  return static_cast<double>(parts[0]) + static_cast<double>(parts[1]);
}

}  // namespace scavenger::ps
