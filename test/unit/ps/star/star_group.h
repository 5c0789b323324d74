// Workers that add up their gradients, all in one process.
#pragma once

#include <boost/asio/use_future.hpp>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ps/star/star_collective.h"
#include "runtime/base/error.h"
#include "runtime/net/io_thread.h"

namespace scavenger::ps {

inline const JobCredentials kCredentials = JobCredentials::generate();

// A worker with its hub, as a process has them.
struct Member {
  IoThread io;
  std::unique_ptr<StarHub> hub;
  const IoThread::StopAtEnd stop{io};
  std::unique_ptr<StarCollective> collective;

  explicit Member(const std::string& address) {
    asio::post(io.context(), asio::use_future([this, &address] {
                 hub = std::make_unique<StarHub>(io.context(), Endpoint{address, 0}, kCredentials);
               }))
        .get();
    collective = std::make_unique<StarCollective>(io.context(), *hub, kCredentials);
  }
};

class Group {
 public:
  // `address`: of all members.
  explicit Group(std::size_t count, std::string address = "127.0.0.1")
      : address_(std::move(address)) {
    while (members_.size() < count) members_.push_back(std::make_unique<Member>(address_));
  }

  SyncGroup group_of(std::uint32_t rank, std::uint32_t centre) const {
    SyncGroup group;
    group.rank = rank;
    group.source_rank = centre;
    group.membership.epoch = epoch_;
    group.membership.shares.assign(members_.size(), 1);
    group.shards = {{address_, members_[centre]->hub->port()}};
    return group;
  }

  // Has all members join a new group, and then do something, each on a thread of its own. Returns
  // whether it returned true for all; Catch's assertions are for one thread.
  template <typename Do>
  bool run(std::uint32_t centre, const Do& what) {
    ++epoch_;
    std::vector<std::future<bool>> done;
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank)
      done.push_back(std::async(std::launch::async, [this, rank, centre, &what] {
        StarCollective& collective = *members_[rank]->collective;
        collective.join(group_of(rank, centre));
        return what(collective, rank);
      }));
    bool all = true;
    for (auto& each : done) all &= each.get();
    return all;
  }

  Member& member(std::size_t index) { return *members_[index]; }
  void lose(std::size_t index) {
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(index));
  }

 private:
  const std::string address_;
  std::uint32_t epoch_ = 1;
  std::vector<std::unique_ptr<Member>> members_;
};

// Whether it ends with the loss of a connection.
template <typename Do>
inline bool is_lost(const Do& what) {
  try {
    what();
  } catch (const ConnectionError&) {
    return true;
  }
  return false;
}

// Adds up ones; returns whether the sum is that of so many workers.
inline bool adds_up(StarCollective& collective, std::size_t workers) {
  std::vector<float> values(1000, 1.0F);
  collective.begin_sum(values);
  collective.finish_sum();
  return values[999] == static_cast<float>(workers);
}

}  // namespace scavenger::ps
