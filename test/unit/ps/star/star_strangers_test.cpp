// What those of a group that do not keep to the protocol come to, and that the others know of it.
#include <catch2/catch.hpp>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/ps/star/raw_peer.h"
#include "test/unit/ps/star/star_group.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

constexpr std::uint32_t kEpoch = 5;

SyncGroup group_of_two(std::uint32_t rank, std::uint16_t port) {
  SyncGroup group;
  group.rank = rank;
  group.membership.epoch = kEpoch;
  group.membership.shares = {1, 1};
  group.shards = {{"127.0.0.1", port}};
  return group;
}

// Joins and adds up a thousand ones on a thread of its own. Returns "" or why it was given up.
std::future<std::string> adds_up_later(Member& member, const SyncGroup& group) {
  return std::async(std::launch::async, [&member, group] {
    std::string problem;
    try {
      member.collective->join(group);
      if (!adds_up(*member.collective, 2)) problem = "the sum is wrong";
    } catch (const ConnectionError& error) {
      problem = error.what();
    }
    member.collective->leave();
    return problem;
  });
}

const FrameHeader kRound0{.type = FrameType::kGradient, .membership_epoch = kEpoch};

struct Said {
  FrameHeader header;
  std::size_t bytes = 0;
};

// Frames in place of `good`, which is due.
std::vector<Said> not_due(const FrameHeader& good) {
  FrameHeader stale = good, early = good, other = good, control = good;
  --stale.membership_epoch;
  ++early.iteration;
  other.type = FrameType::kState;
  control.type = FrameType::kControl;
  return {{stale, 0}, {early, 0}, {other, 0}, {control, 8}, {good, 6}, {good, kRoundBytes + 4}};
}

// Sends one frame to whoever comes, after the frame that is due if `is_second`, and waits until
// that one has had enough.
awaitable<void> answer_with(std::shared_ptr<FrameConnection> connection, Said said,
                            bool is_second) {
  const FrameHeader hello = co_await connection->receive_header(0);
  FrameHeader due{.type = FrameType::kWeights, .membership_epoch = hello.membership_epoch};
  if (is_second) connection->post_owned(due, {});
  connection->post_owned(said.header, std::vector<std::byte>(said.bytes));
  const std::size_t frames = co_await read_to_the_end(connection);
  static_cast<void>(frames);
}

// What a worker says whose centre sends this.
std::string problem_with_centre(const Said& said, bool is_second) {
  IoThread io;
  std::unique_ptr<JobListener> listener;
  const IoThread::StopAtEnd stop(io);
  asio::post(io.context(), asio::use_future([&] {
               listener = std::make_unique<JobListener>(
                   io.context(), Endpoint{"127.0.0.1", 0}, kCredentials, SIZE_MAX,
                   [&](std::shared_ptr<FrameConnection> connection) {
                     return answer_with(std::move(connection), said, is_second);
                   });
             }))
      .get();
  Member member("127.0.0.1");
  return adds_up_later(member, group_of_two(1, listener->port())).get();
}

}  // namespace

TEST_CASE("a frame of a peer that is not due ends the sum, and the centre knows whose it was") {
  for (const Said& said : not_due(kRound0)) {
    Member centre("127.0.0.1");
    auto problem = adds_up_later(centre, group_of_two(0, centre.hub->port()));
    RawPeer peer(centre.hub->port());
    peer.join(kEpoch, 1);
    peer.say(said.header, said.bytes);

    CHECK_THAT(problem.get(), Catch::Contains("rank 1: "));
    CHECK(peer.frames_to_the_end() == 0);
  }
}

TEST_CASE("a part of another length than the others' ends the sum") {
  Member centre("127.0.0.1");
  auto problem = adds_up_later(centre, group_of_two(0, centre.hub->port()));
  RawPeer peer(centre.hub->port());
  peer.join(kEpoch, 1);
  peer.say(kRound0);  // to which nobody brings anything
  FrameHeader second = kRound0;
  second.iteration = 1;
  peer.say(second, 4);

  CHECK_THAT(problem.get(), Catch::Contains("floats came, and"));
  CHECK(peer.frames_to_the_end() == 1);
}

TEST_CASE("who begins as nobody who is missing is sent away, and the group does not suffer") {
  Member centre("127.0.0.1"), other("127.0.0.1");
  const std::uint16_t port = centre.hub->port();
  auto problem = adds_up_later(centre, group_of_two(0, port));
  const std::vector<Said> hellos = {
      {{.type = FrameType::kGradient, .membership_epoch = kEpoch, .rank = 1}},
      {{.type = FrameType::kPull, .membership_epoch = kEpoch, .rank = 0}},  // the centre itself
      {{.type = FrameType::kPull, .membership_epoch = kEpoch, .rank = 2}},  // of two
      {{.type = FrameType::kPull, .membership_epoch = kEpoch, .rank = ~0U}},
      {{.type = FrameType::kPull, .membership_epoch = kEpoch - 1, .rank = 1}},
      {{.type = FrameType::kPull, .membership_epoch = kEpoch, .rank = 1}, 4}};
  RawPeer early(port);  // waits for the group of its epoch, and costs nobody anything
  early.join(kEpoch + 1, 1);
  for (const Said& said : hellos) {
    RawPeer stranger(port);
    stranger.say(said.header, said.bytes);
    CHECK(stranger.frames_to_the_end() == 0);
  }

  CHECK(adds_up_later(other, group_of_two(1, port)).get().empty());
  CHECK(problem.get().empty());
}

TEST_CASE("a second peer of the same rank is sent away") {
  Member centre("127.0.0.1");
  auto problem = adds_up_later(centre, group_of_two(0, centre.hub->port()));
  RawPeer first(centre.hub->port());
  first.join(kEpoch, 1);
  first.say(kRound0);
  RawPeer second(centre.hub->port());
  second.join(kEpoch, 1);
  CHECK(second.frames_to_the_end() == 0);

  FrameHeader next = kRound0;
  next.iteration = 1;
  first.say(next, 1000 * sizeof(float));  // zeros

  CHECK(problem.get() == "the sum is wrong");  // it has come
}

TEST_CASE("a worker whose centre does not keep to the protocol gives up, and says so") {
  const FrameHeader due{.type = FrameType::kWeights, .membership_epoch = kEpoch};
  for (const Said& said : not_due(due)) CHECK(!problem_with_centre(said, false).empty());
  FrameHeader second = due;
  second.iteration = 1;
  CHECK_THAT(problem_with_centre({second, 12}, true),
             Catch::Contains("a sum of another length came"));
}
