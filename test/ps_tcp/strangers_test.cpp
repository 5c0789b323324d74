// What a shard answers to those who do not keep to the protocol, and that nobody else suffers.
#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "test/ps_tcp/tcp_job.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

awaitable<std::shared_ptr<FrameConnection>> connect(std::uint16_t port, JobCredentials job) {
  const Endpoint endpoint{"127.0.0.1", port};
  JobSocket socket = co_await connect_authenticated(endpoint, job, 20.0);
  co_return std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
}

using Answers = std::vector<FrameHeader>;

// What the shard sends: `count` frames, or fewer where it ends the connection before.
awaitable<Answers> read_answers(std::shared_ptr<FrameConnection> connection, std::size_t count) {
  Answers answers;
  try {
    while (answers.size() < count) {
      const FrameHeader header = co_await connection->receive_header(1u << 20);
      std::vector<std::byte> payload(header.payload_bytes);
      co_await connection->receive_payload(payload);
      answers.push_back(header);
    }
  } catch (const ConnectionError&) {
  }
  co_return answers;
}

// A member of the job that says what a test wants.
class RawMember final {
 public:
  RawMember(TcpJob& job, const JobCredentials& credentials) : layout_(job.layout()) {
    connection_ =
        asio::co_spawn(io_.context(), connect(job.shard(0).port(), credentials), asio::use_future)
            .get();
  }
  explicit RawMember(TcpJob& job) : RawMember(job, job.credentials()) {}
  ~RawMember() {
    asio::post(io_.context(), asio::use_future([this] { connection_->close(); })).get();
  }

  void say(const FrameHeader& header, std::size_t payload_bytes = 0) {
    asio::post(io_.context(), asio::use_future([&] {
                 connection_->post_owned(header, std::vector<std::byte>(payload_bytes));
               }))
        .get();
  }
  void pull_near(std::uint32_t rank, const NearPlace& place) {
    const auto bytes = encode(place);
    asio::post(io_.context(), asio::use_future([&] {
                 connection_->post_owned(
                     {.type = FrameType::kPull, .membership_epoch = 1, .rank = rank},
                     {bytes.begin(), bytes.end()});
               }))
        .get();
  }
  void pull(std::uint32_t rank, std::uint32_t epoch = 1) {
    say({.type = FrameType::kPull, .membership_epoch = epoch, .rank = rank});
  }
  void bring_zeros(FrameType type, std::uint32_t chunk, std::uint64_t iteration,
                   std::uint32_t rank) {
    say({.type = type, .membership_epoch = 1, .chunk = chunk, .iteration = iteration, .rank = rank},
        layout_.range(chunk).size * sizeof(float));
  }
  // Pulls, and takes the weights.
  void join(std::uint32_t rank) {
    pull(rank);
    CHECK(answers(layout_.chunk_count()).size() == layout_.chunk_count());
  }
  // All of them come when the shard has ended the connection, and so has judged all that was said.
  Answers answers(std::size_t count = SIZE_MAX) {
    return asio::co_spawn(io_.context(), read_answers(connection_, count), asio::use_future).get();
  }
  void be_sent_away() {
    say({.type = FrameType::kState});
    CHECK(answers().empty());
  }

 private:
  ChunkLayout layout_;
  IoThread io_;
  std::shared_ptr<FrameConnection> connection_;
};

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
  TcpJob job({.shares = {1, 1}});
  TcpWorker worker(job, 0);
  const FrameHeader good{.type = FrameType::kGradient, .membership_epoch = 1, .rank = 1};
  const std::size_t bytes = job.layout().range(0).size * sizeof(float);
  FrameHeader future = good, unknown = good;
  future.iteration = 1;
  unknown.chunk = 1000;

  for (const auto& [header, size] : {std::pair{future, bytes},
                                     {unknown, bytes},
                                     {good, bytes - 4},
                                     {good, bytes - 1},
                                     {good, std::size_t{0}}}) {
    RawMember stranger(job);
    stranger.join(1);
    stranger.say(header, size);
    CHECK(stranger.answers().empty());
  }
  RawMember other(job);
  other.join(1);
  for (std::uint32_t chunk = 0; chunk < job.layout().chunk_count(); ++chunk)
    other.bring_zeros(FrameType::kGradient, chunk, 0, 1);  // none of the refused ones has counted
  CHECK_NOTHROW(worker.iterate(0));
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
