// The centre of a group whose workers add up their gradients: the others connect to it, and it
// sends the sums back. Each worker has one during its whole life, so that any can be the centre.
//
// Frames: kPull (the peer's membership epoch and rank), then kGradient (what it brings to a round,
// which header.iteration numbers) to the hub; kWeights (the round's sum) to the peer.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ps/star/rank_sums.h"
#include "ps/star/round_frame.h"
#include "runtime/net/asio.h"
#include "runtime/net/authentication.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/job_listener.h"

namespace scavenger::ps {

// Thread: that of the io_context, which must have ended when this is destroyed; port() is for any.
class StarHub final {
 public:
  // What the centre's own worker is told of its group.
  struct Group {
    std::uint32_t epoch = 0;
    std::uint32_t workers = 0;
    std::uint32_t rank = 0;  // of the centre
    std::function<void(RankSums::Sum)> summed;
    std::function<void(std::string problem)> lost;
  };

  // Throws SystemError if it cannot listen.
  StarHub(asio::io_context& io, const Endpoint& endpoint, const JobCredentials& credentials);

  std::uint16_t port() const { return port_; }

  // Becomes the centre of a group in place of any before it. Peers that came early have waited.
  void open(Group group);
  // What the centre brings to its next round.
  void bring(FloatBuffer part);
  // Ends all connections; nobody is told any more.
  void close();

 private:
  struct Peer {
    std::shared_ptr<FrameConnection> connection;
    std::deque<RankSums::Sum> sums;  // to be sent
    std::uint64_t rounds_sent = 0;
    bool is_sending = false;
  };

  awaitable<void> serve(std::shared_ptr<FrameConnection> connection);
  awaitable<void> until_open(std::uint32_t epoch);
  awaitable<void> read(std::shared_ptr<FrameConnection> connection, std::uint32_t epoch,
                       std::uint32_t rank);
  awaitable<void> send_sums(std::shared_ptr<Peer> peer, std::uint32_t epoch);
  void take(std::uint32_t rank, FloatBuffer part);

  asio::io_context& io_;
  Group group_;  // epoch 0: none
  RankSums sums_{0};
  std::vector<std::shared_ptr<Peer>> peers_;  // by rank; null: the centre, or not there
  asio::steady_timer opened_;                 // never expires; cancelled when a group is opened
  JobListener listener_;                      // last: it serves with all the others
  const std::uint16_t port_;
};

}  // namespace scavenger::ps
