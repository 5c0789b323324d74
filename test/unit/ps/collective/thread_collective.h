// An all-reduce among the threads of a test, in rank order, which breaks where it is told to.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/training/collective.h"

namespace scavenger::ps {

// One group. What it is given is added up, or copied from its source, by whoever comes last.
class Meeting final {
 public:
  explicit Meeting(std::uint32_t ranks) : ranks_(ranks) {}

  void bring(std::uint32_t rank, std::uint64_t number, std::span<float> values, int source) {
    const std::lock_guard lock(mutex_);
    if (broken_) return;
    Round& round = rounds_[number];
    round.parts.resize(ranks_);
    round.parts[rank] = values;
    if (++round.arrived < ranks_) return;
    source < 0 ? sum(round.parts) : copy(round.parts, static_cast<std::size_t>(source));
    round.done = true;
    changed_.notify_all();
  }
  void await(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rounds_[number].done || broken_; });
    if (!rounds_[number].done)
      throw ConnectionError({.what = "a peer was lost", .where = {}, .remedy = {}});
  }
  void break_up() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }

 private:
  using Parts = std::vector<std::span<float>>;
  struct Round {
    Parts parts;
    std::uint32_t arrived = 0;
    bool done = false;
  };

  static void sum(const Parts& parts) {
    for (std::size_t i = 0; i < parts[0].size(); ++i) {
      float total = parts[0][i];
      for (std::size_t rank = 1; rank < parts.size(); ++rank) total += parts[rank][i];
      for (const std::span<float> part : parts) part[i] = total;
    }
  }
  static void copy(const Parts& parts, std::size_t source) {
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      if (rank != source) std::ranges::copy(parts[source], parts[rank].begin());
  }

  const std::uint32_t ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Round> rounds_;
  bool broken_ = false;
};

// What the members of all groups have in common: the meeting of each membership epoch.
class MeetingPlace final {
 public:
  std::shared_ptr<Meeting> meeting(const SyncGroup& group) {
    const std::lock_guard lock(mutex_);
    auto& found = meetings_[group.membership.epoch];
    if (!found) found = std::make_shared<Meeting>(group.membership.workers());
    return found;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<Meeting>> meetings_;
};

class ThreadCollective final : public Collective {
 public:
  explicit ThreadCollective(MeetingPlace& place) : place_(place) {}
  ~ThreadCollective() override { leave(); }

  void join(const SyncGroup& group) override {
    leave();
    rank_ = group.rank;
    begun_ = finished_ = 0;
    {
      const std::lock_guard lock(mutex_);
      if (interrupted_) throw ConnectionError({.what = "interrupted", .where = {}, .remedy = {}});
      meeting_ = place_.meeting(group);
    }
    count();
  }
  void leave() override {
    const std::lock_guard lock(mutex_);
    if (meeting_) meeting_->break_up();
    meeting_.reset();
  }
  void begin_sum(std::span<float> values) override {
    count();
    here()->bring(rank_, begun_++, values, -1);
  }
  void finish_sum() override {
    count();
    here()->await(finished_++);
  }
  void broadcast(std::span<float> values, std::uint32_t source) override {
    count();
    here()->bring(rank_, begun_++, values, static_cast<int>(source));
    here()->await(finished_++);
  }
  void interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    if (meeting_) meeting_->break_up();
  }
  void allow() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = false;
  }

  // The connection is lost at the n-th call from now on, from 0.
  void break_at(std::uint64_t calls) { calls_left_ = calls; }

 private:
  void count() {
    if (calls_left_-- > 0) return;
    calls_left_ = UINT64_MAX;
    leave();
    throw ConnectionError({.what = "the test breaks it", .where = {}, .remedy = {}});
  }
  std::shared_ptr<Meeting> here() {
    const std::lock_guard lock(mutex_);
    if (!meeting_) throw ConnectionError({.what = "no group", .where = {}, .remedy = {}});
    return meeting_;
  }

  MeetingPlace& place_;
  std::mutex mutex_;
  std::shared_ptr<Meeting> meeting_;
  bool interrupted_ = false;
  std::uint32_t rank_ = 0;
  std::uint64_t begun_ = 0, finished_ = 0;
  std::uint64_t calls_left_ = UINT64_MAX;
};

}  // namespace scavenger::ps
