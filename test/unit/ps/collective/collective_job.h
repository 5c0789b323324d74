// A whole job of all-reduce workers, each a thread while it works: gradients that depend on
// iteration and rank, as ShardJob's, and what a controller does about a loss.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "ps/collective/collective_synchroniser.h"
#include "ps/collective/host_replica.h"
#include "test/unit/ps/collective/thread_collective.h"
#include "test/unit/ps/core/shard_job.h"

namespace scavenger::ps {

// Has its gradients weighted as a device has: in large ranges.
struct LikeDevice : HostReplica {
  using HostReplica::HostReplica;
  bool prefers_large_ranges() const override { return true; }
};

class CollectiveJob final {
 public:
  using Options = ShardJob::Options;

  explicit CollectiveJob(const Options& options, bool is_like_device = false)
      : options_(options),
        is_like_device_(is_like_device),
        layout_(options.flat_size, options.chunk_bytes, 1),
        initial_(random_floats(options.flat_size, 99)) {}

  struct Member {
    ThreadCollective* collective = nullptr;
    std::unique_ptr<CollectiveSynchroniser> synchroniser;
    std::uint32_t rank = 0;
    std::uint64_t iteration = 0;
    std::vector<SyncResult> results;  // by iteration
    std::vector<std::shared_ptr<const ShardSnapshot>> snapshots;
  };

  // A worker that holds nothing.
  void add_worker() {
    auto member = std::make_unique<Member>();
    auto collective = std::make_unique<ThreadCollective>(place_);
    member->collective = collective.get();
    const auto deliver = [raw = member.get()](std::uint32_t,
                                              std::shared_ptr<const ShardSnapshot> snapshot) {
      raw->snapshots.push_back(std::move(snapshot));
    };
    member->synchroniser = std::make_unique<CollectiveSynchroniser>(
        CollectiveSynchroniser::Parts{make_replica(), std::move(collective), deliver}, layout_,
        clock_,
        CollectiveSynchroniser::Options{
            options_.optimizer, 1, {2 * options_.chunk_bytes, 3 * options_.chunk_bytes}});
    members_.push_back(std::move(member));
  }
  void lose_worker(std::size_t index) {
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  Member& member(std::size_t index) { return *members_[index]; }
  CollectiveSynchroniser& worker(std::size_t index) { return *members_[index]->synchroniser; }

  // A new membership, as the controller makes it: from the greatest iteration that a worker holds;
  // from initial weights where none does. True where all joined.
  bool reconfigure(const std::vector<std::uint32_t>& batch_sizes) {
    std::optional<std::uint64_t> first;
    std::uint32_t source = 0;
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
      const auto held = worker(rank).held_iteration();
      if (!held || (first && *held <= *first)) continue;
      first = held;
      source = rank;
    }
    SyncGroup group;
    group.membership.epoch = ++epoch_;
    group.membership.shares = batch_sizes;
    group.membership.batch_size =
        std::accumulate(batch_sizes.begin(), batch_sizes.end(), std::uint32_t{0});
    group.membership.first_iteration = group.optimizer_steps = first.value_or(0);
    group.source_rank = source;
    for (const auto& member : members_)
      group.shares_state |= member->synchroniser->held_iteration() != first || !first;
    std::vector<std::future<bool>> joined;
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank)
      joined.push_back(std::async(std::launch::async, [this, group, rank, first]() mutable {
        Member& me = *members_[rank];
        me.rank = group.rank = rank;
        group.writes_initial_weights = !first && rank == 0;
        me.iteration = group.membership.first_iteration;
        me.synchroniser->allow();
        return me.synchroniser->join(group, [this](std::span<float> weights) {
          std::ranges::copy(initial_, weights.begin());
        });
      }));
    bool all = true;
    for (auto& each : joined) all &= each.get();
    return all;
  }

  // All work until they have done `count` iterations, or somebody gives up. True where all have.
  bool train_until(std::uint64_t count) {
    std::vector<std::future<bool>> done;
    for (auto& member : members_)
      done.push_back(std::async(std::launch::async, [this, count, &me = *member] {
        while (me.iteration < count)
          if (!iterate(me)) return false;
        return true;
      }));
    bool all = true;
    for (auto& each : done) all &= each.get();
    return all;
  }

  // As a backward pass brings it: from the end, in ranges that know nothing of chunks.
  bool iterate(Member& me) {
    CollectiveSynchroniser& synchroniser = *me.synchroniser;
    synchroniser.begin(me.iteration);
    const auto gradient = ShardJob::gradient(layout_.flat_size(), me.iteration, me.rank);
    std::ranges::copy(gradient, synchroniser.gradients().begin());
    for (std::uint64_t last = layout_.flat_size(); last > 0;) {
      const std::uint64_t first = last - std::min<std::uint64_t>(last, 100);
      synchroniser.gradient_ready(first, last);
      last = first;
    }
    const auto result = synchroniser.finish();
    if (!result) return false;
    me.results.resize(me.iteration + 1);
    me.results[me.iteration++] = *result;
    return true;
  }

  std::vector<float> weights(std::size_t index) {
    const auto weights = worker(index).weights();
    return {weights.begin(), weights.end()};
  }
  const ChunkLayout& layout() const { return layout_; }

 private:
  std::unique_ptr<Replica> make_replica() const {
    if (is_like_device_) return std::make_unique<LikeDevice>(layout_, options_.optimizer);
    return std::make_unique<HostReplica>(layout_, options_.optimizer);
  }

  const Options options_;
  const bool is_like_device_;
  const ChunkLayout layout_;
  const std::vector<float> initial_;
  SteadyClock clock_;
  MeetingPlace place_;
  std::uint32_t epoch_ = 0;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace scavenger::ps
