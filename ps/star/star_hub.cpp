#include "ps/star/star_hub.h"

#include <fmt/format.h>

#include <chrono>
#include <span>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/net/spawn.h"

namespace scavenger::ps {
namespace {

[[noreturn]] void refuse(std::string what) {
  throw ProtocolError({.what = std::move(what), .where = "all-reduce", .remedy = {}});
}

}  // namespace

StarHub::StarHub(asio::io_context& io, const Endpoint& endpoint, const JobCredentials& credentials)
    : io_(io),
      opened_(io, asio::steady_timer::time_point::max()),
      listener_(io, endpoint, credentials, SIZE_MAX,
                [this](std::shared_ptr<FrameConnection> connection) {
                  return serve(std::move(connection));
                }),
      port_(listener_.port()) {}

void StarHub::open(Group group) {
  close();
  group_ = std::move(group);
  sums_ = RankSums(group_.workers);
  peers_.resize(group_.workers);
  opened_.cancel();
}

void StarHub::close() {
  for (const auto& peer : peers_)
    if (peer) peer->connection->close();
  peers_.clear();
  group_ = {};
}

// A peer may have heard of the group before the centre has. The controller limits how long that
// takes; a peer that gives up closes its connection.
awaitable<void> StarHub::until_open(std::uint32_t epoch) {
  while (group_.epoch < epoch) {
    const auto result = co_await opened_.async_wait(asio::as_tuple(use_awaitable));
    static_cast<void>(result);
  }
}

awaitable<void> StarHub::serve(std::shared_ptr<FrameConnection> connection) {
  const FrameHeader hello = co_await connection->receive_header(0);
  if (hello.type != FrameType::kPull) refuse("a connection began with another frame than kPull");
  const std::uint32_t epoch = hello.membership_epoch;
  co_await until_open(epoch);
  if (group_.epoch != epoch) co_return;  // of an earlier group
  if (hello.rank >= group_.workers || hello.rank == group_.rank || peers_[hello.rank])
    refuse(fmt::format("rank {} came, which is not due", hello.rank));
  auto peer = std::make_shared<Peer>();
  peer->connection = connection;
  peers_[hello.rank] = peer;
  std::string problem;
  try {
    co_await read(connection, epoch, hello.rank);
  } catch (const Error& error) {
    problem = error.what();
  }
  if (group_.epoch == epoch && !problem.empty())
    group_.lost(fmt::format("rank {}: {}", hello.rank, problem));
}

awaitable<void> StarHub::read(std::shared_ptr<FrameConnection> connection, std::uint32_t epoch,
                              std::uint32_t rank) {
  for (std::uint64_t round = 0;; ++round) {
    const FrameHeader header = co_await connection->receive_header(kRoundBytes);
    if (!is_of_round(header, FrameType::kGradient, epoch, round))
      refuse(fmt::format("rank {} sent a frame that is not due", rank));
    FloatBuffer part(header.payload_bytes / sizeof(float));
    if (part.size() > 0) co_await connection->receive_payload(std::as_writable_bytes(part.span()));
    if (group_.epoch != epoch) co_return;
    take(rank, std::move(part));
  }
}

void StarHub::bring(FloatBuffer part) {
  try {
    take(group_.rank, std::move(part));
  } catch (const Error& error) {
    group_.lost(error.what());
  }
}

void StarHub::take(std::uint32_t rank, FloatBuffer part) {
  const RankSums::Sum sum = sums_.bring(rank, std::move(part));
  if (!sum) return;
  for (const auto& peer : peers_) {
    if (!peer) continue;
    peer->sums.push_back(sum);
    if (std::exchange(peer->is_sending, true)) continue;
    spawn(io_, unless_disconnected(send_sums(peer, group_.epoch)));
  }
  group_.summed(sum);
}

// A sum stays until it has been written.
awaitable<void> StarHub::send_sums(std::shared_ptr<Peer> peer, std::uint32_t epoch) {
  while (!peer->sums.empty()) {
    const RankSums::Sum sum = std::move(peer->sums.front());
    peer->sums.pop_front();
    FrameHeader header;
    header.type = FrameType::kWeights;
    header.membership_epoch = epoch;
    header.iteration = peer->rounds_sent++;
    peer->connection->post(header, std::as_bytes(sum->span()));
    co_await peer->connection->wait_until_queued_at_most(0);
  }
  peer->is_sending = false;
}

}  // namespace scavenger::ps
