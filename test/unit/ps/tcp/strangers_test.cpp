// What a shard answers to those who do not keep to the protocol, and that nobody else suffers.
#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "test/unit/ps/tcp/raw_member.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

void check_training_is_right(TcpJob& job, TcpWorker& worker, std::uint64_t from) {
  for (std::uint64_t iteration = from; iteration < from + 3; ++iteration) worker.iterate(iteration);
  CHECK(worker.weights() == reference(job.options(), from + 3).weights);
}

}  // namespace

TEST_CASE("strangers at a shard's door do not disturb the training") {
  TcpJob job({});
  TcpWorker worker(job, 0);
  asio::io_context io;
  const tcp::endpoint door(asio::ip::address_v4::loopback(), job.shard(0).port());
  tcp::socket silent(io), noisy(io), gone(io);
  for (tcp::socket* socket : {&silent, &noisy, &gone}) socket->connect(door);
  const std::vector<std::byte> garbage(100000, std::byte{0xff});
  boost::system::error_code refused;

  asio::write(noisy, asio::buffer(garbage), refused);
  gone.close();

  CHECK_THROWS_AS(RawMember(job, JobCredentials::generate()), ConnectionError);
  check_training_is_right(job, worker, 0);
}

TEST_CASE("a second connection of the same rank is ended, and the first goes on") {
  TcpJob job({});
  TcpWorker worker(job, 0);
  worker.iterate(0);
  RawMember second(job);

  second.pull(0);

  CHECK(second.answers().empty());
  check_training_is_right(job, worker, 1);
}

TEST_CASE("a pull of another membership, or of a rank that is not there, is refused") {
  TcpJob job({.shares = {1, 1}});
  TcpWorker worker(job, 0);

  for (const auto& [rank, epoch] : {std::pair{1U, 2U}, {1U, 0U}, {2U, 1U}, {UINT32_MAX, 1U}}) {
    RawMember stranger(job);
    stranger.pull(rank, epoch);
    CHECK(stranger.answers().empty());
  }
}

TEST_CASE("a pull to memory that is not there, too short, or could shrink, is refused") {
  TcpJob job({.shares = {1, 1}});
  TcpWorker worker(job, 0);
  const NearVectors good(job.options().flat_size), short_ones(16);
  const FileDescriptor unsealed(::memfd_create("test", MFD_CLOEXEC));
  NearPlace nobody = good.place(), beyond = good.place(), odd = good.place(), weak = good.place();
  nobody.pid = INT32_MAX;
  beyond.gradients_offset = std::uint64_t{0} - 4096;
  odd.weights_offset = 8;
  weak.file = unsealed.get();

  for (const NearPlace& place : {nobody, beyond, odd, weak, short_ones.place()}) {
    RawMember stranger(job);
    stranger.pull_near(1, place);
    CHECK(stranger.answers().empty());
  }
  RawMember other(job);
  other.say({.type = FrameType::kPull, .membership_epoch = 1, .rank = 1}, 31);
  CHECK(other.answers().empty());
}

TEST_CASE("a gradient that a lost worker brought in its memory is summed once all others came") {
  TcpJob job({.shares = {1, 1}});
  const std::uint32_t chunks = job.layout().chunk_count();
  RawMember staying(job);
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
    staying.bring_zeros(FrameType::kInitial, chunk, 0, 0);
  staying.join(0);
  {
    const NearVectors vectors(job.options().flat_size);
    RawMember leaving(job);
    leaving.pull_near(1, vectors.place());
    CHECK(leaving.answers(chunks).size() == chunks);
    std::ranges::fill(vectors.gradients(), 2.0F);
    leaving.say({.type = FrameType::kGradient,
                 .membership_epoch = 1,
                 .chunk = 1,
                 .iteration = 0,
                 .rank = 1});
    leaving.be_sent_away();
    RawMember second(job);
    second.pull_near(1, vectors.place());
    CHECK(second.answers().empty());  // it could change what has been brought
  }

  staying.bring_zeros(FrameType::kGradient, 1, 0, 0);
  const Answers answers = staying.answers(1);

  REQUIRE(answers.size() == 1);
  CHECK(answers[0].chunk == 1);
  CHECK(answers[0].global_sqr_norm ==
        Approx(1.0 * static_cast<double>(job.layout().range(1).size)));
}

TEST_CASE("a gradient before the pull, or in another's name, is refused") {
  TcpJob job({.shares = {1, 1}});
  TcpWorker worker(job, 0);
  RawMember hasty(job), impostor(job);

  hasty.bring_zeros(FrameType::kGradient, 0, 0, 1);
  CHECK(hasty.answers().empty());
  impostor.join(1);
  impostor.bring_zeros(FrameType::kGradient, 0, 0, 0);
  CHECK(impostor.answers().empty());
}

TEST_CASE("gradients of a future iteration, an unknown chunk, a wrong or odd size are refused") {
  const FrameHeader good{.type = FrameType::kGradient, .membership_epoch = 1, .rank = 1};
  constexpr std::size_t bytes = 4096;
  FrameHeader future = good, unknown = good;
  future.iteration = 1;
  unknown.chunk = 1000;

  for (const auto& [header, size] : {std::pair{future, bytes},
                                     {unknown, bytes},
                                     {good, bytes - 4},
                                     {good, bytes - 1},
                                     {good, std::size_t{0}}}) {
    TcpJob job({.shares = {1, 1}, .chunk_bytes = bytes});
    RawMember other(job), stranger(job);
    for (std::uint32_t chunk = 0; chunk < job.layout().chunk_count(); ++chunk)
      other.bring_zeros(FrameType::kInitial, chunk, 0, 0);
    other.join(0);
    stranger.join(1);

    stranger.say(header, size);

    CHECK(stranger.answers().empty());
    for (std::uint32_t chunk = 0; chunk < job.layout().chunk_count(); ++chunk)
      other.bring_zeros(FrameType::kGradient, chunk, 0, 0);
    other.be_sent_away();  // and no weights came before: what was refused has not counted
  }
}

TEST_CASE("a rank that has lost its connection does not come back in the same membership") {
  TcpJob job({.shares = {1, 1}});
  TcpWorker worker(job, 0);
  {
    RawMember lost(job);
    lost.join(1);
    lost.bring_zeros(FrameType::kGradient, 0, 0, 1);
    lost.be_sent_away();
  }
  RawMember again(job);

  again.pull(1);

  CHECK(again.answers().empty());
}

TEST_CASE("frames that only shards or the controller send are refused") {
  TcpJob job({});
  TcpWorker worker(job, 0);
  for (const FrameType type : {FrameType::kControl, FrameType::kWeights, FrameType::kState}) {
    RawMember stranger(job);
    stranger.say({.type = type, .membership_epoch = 1}, 64);
    CHECK(stranger.answers().empty());
  }
  check_training_is_right(job, worker, 0);
}

TEST_CASE("a payload longer than a chunk is refused by its announcement") {
  TcpJob job({});
  TcpWorker worker(job, 0);
  RawMember stranger(job);

  stranger.say({.type = FrameType::kGradient, .membership_epoch = 1}, (1 << 20) + 1);

  CHECK(stranger.answers().empty());
  check_training_is_right(job, worker, 0);
}

TEST_CASE("initial weights that repeat a chunk do not start the shard without the others") {
  TcpJob job({});
  {
    RawMember repeating(job);
    for (std::uint32_t i = 0; i < job.layout().chunk_count(); ++i)
      repeating.bring_zeros(FrameType::kInitial, 0, 0, 0);
    repeating.be_sent_away();
  }

  TcpWorker worker(job, 0);

  check_training_is_right(job, worker, 0);
}

TEST_CASE("initial weights after the start are refused") {
  TcpJob job({});
  TcpWorker worker(job, 0);
  RawMember late(job);

  late.bring_zeros(FrameType::kInitial, 0, 0, 0);

  CHECK(late.answers().empty());
  check_training_is_right(job, worker, 0);
}

TEST_CASE("a worker that leaves in mid-iteration gives the others no wrong weights") {
  TcpJob job({.shares = {1, 1}});
  const std::uint32_t chunks = job.layout().chunk_count();
  RawMember staying(job), leaving(job);
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
    staying.bring_zeros(FrameType::kInitial, chunk, 0, 0);
  staying.join(0);
  leaving.join(1);
  leaving.bring_zeros(FrameType::kGradient, 2, 0, 1);
  leaving.be_sent_away();

  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk)
    staying.bring_zeros(FrameType::kGradient, chunk, 0, 0);
  const Answers answers = staying.answers(1);

  REQUIRE(answers.size() == 1);
  CHECK(answers[0].chunk == 2);  // the only one that both have brought
  staying.be_sent_away();        // and nothing came after it
  CHECK(job.shard(0).on_thread([&] { return job.shard(0).server().progress(); }).iteration == 0);
}
