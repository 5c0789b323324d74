#include <catch2/catch.hpp>
#include <cstdint>
#include <latch>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "test/unit/ps/tcp/tcp_job.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

// What each worker held after `iterations`, with norms of the last one.
std::vector<TrainedState> train(TcpJob& job, std::uint64_t iterations) {
  std::vector<TrainedState> states(job.options().shares.size());
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < states.size(); ++rank)
    threads.emplace_back([&job, &state = states[rank], rank, iterations] {
      TcpWorker worker(job, rank);
      for (std::uint64_t iteration = 0; iteration < iterations; ++iteration)
        state.results = {worker.iterate(iteration)};
      state.weights = worker.weights();
    });
  for (std::thread& thread : threads) thread.join();
  return states;
}

void check_against_reference(const TcpJobOptions& options) {
  INFO("K = " << options.shares.size() << ", S = " << options.shards << ", " << options.chunk_bytes
              << " bytes a chunk");
  constexpr std::uint64_t kIterations = 6;
  TcpJob job(options);

  const auto states = train(job, kIterations);

  const TrainedState expected = reference(options, kIterations);
  for (std::size_t rank = 0; rank < states.size(); ++rank) {
    CHECK(states[rank].weights == expected.weights);
    const SyncResult& result = states[rank].results.at(0);
    CHECK(result.local_gradient_sqr_norm == expected.results[rank].local_gradient_sqr_norm);
    CHECK(result.global_gradient_sqr_norm == expected.results[rank].global_gradient_sqr_norm);
    CHECK(result.wait_seconds >= 0.0);
  }
}

// Reads the kState frames of a snapshot of all chunks, by vector.
awaitable<void> collect_state(std::shared_ptr<FrameConnection> connection, ChunkLayout layout,
                              std::vector<std::vector<float>>& vectors) {
  for (auto& vector : vectors)
    for (std::uint32_t chunk = 0; chunk < layout.chunk_count(); ++chunk) {
      const FrameHeader header = co_await connection->receive_header(1u << 20);
      const ChunkRange range = layout.range(header.chunk);
      REQUIRE(header.type == FrameType::kState);
      REQUIRE(header.payload_bytes == range.size * sizeof(float));
      co_await connection->receive_payload(
          std::as_writable_bytes(std::span(vector).subspan(range.first, range.size)));
    }
}

}  // namespace

TEST_CASE("weights and norms are those of one thread, bit for bit, for any K and S") {
  for (const std::vector<std::uint32_t>& shares :
       {std::vector<std::uint32_t>{8}, {4, 4}, {1, 2, 3, 4}})
    for (const std::uint32_t shards : {1U, 2U, 3U})
      check_against_reference({.shares = shares, .shards = shards});
}

TEST_CASE("a worker is told of each chunk of new weights that a shard has sent") {
  constexpr std::uint64_t kIterations = 5;
  for (const std::uint32_t shards : {1U, 3U}) {
    TcpJob job({.shares = {8}, .shards = shards, .chunk_bytes = 256});
    TcpWorker worker(job, 0);
    std::vector<float> followed(job.options().flat_size);
    std::uint64_t floats = 0;
    worker.synchroniser().tell_of_weights(
        [&](std::span<float> next, std::uint64_t first, std::uint64_t last) {
          for (std::uint64_t i = first; i < last; ++i) followed[i] = next[i];
          floats += last - first;
        });
    for (std::uint64_t iteration = 0; iteration < kIterations; ++iteration) {
      worker.iterate(iteration);
      CHECK(std::exchange(floats, 0) == followed.size());
      CHECK(followed == worker.weights());
    }
    CHECK(followed == reference(job.options(), kIterations).weights);
  }
}

TEST_CASE("neither small chunks, of which the last is odd, nor one chunk for all change a bit") {
  check_against_reference({.shares = {3, 5}, .shards = 3, .flat_size = 2003, .chunk_bytes = 64});
  check_against_reference({.shares = {3, 5}, .flat_size = 1, .chunk_bytes = 64});
  check_against_reference({.shares = {3, 5}, .flat_size = 3000, .chunk_bytes = 1 << 20});
}

TEST_CASE("gradients and weights that are rounded on the wire are rounded there and nowhere else") {
  check_against_reference({.shares = {8}, .precision = WirePrecision::kBfloat16});
  check_against_reference(
      {.shares = {1, 2, 3}, .shards = 2, .precision = WirePrecision::kBfloat16});

  const TcpJobOptions exact, rounded{.precision = WirePrecision::kBfloat16};
  CHECK_FALSE(reference(exact, 6).weights == reference(rounded, 6).weights);
}

TEST_CASE("shards on the workers' host change no bit by reading and writing in their memory") {
  for (const std::uint32_t near_shards : {1U, 3U}) {
    INFO(near_shards << " near");
    check_against_reference({.shares = {8}, .shards = 3, .near_shards = near_shards});
    check_against_reference({.shares = {1, 2, 3}, .shards = 3, .near_shards = near_shards});
  }
}

TEST_CASE("clipping changes no bit with the number of shards, nor with where they are") {
  for (const std::vector<std::uint32_t>& shares : {std::vector<std::uint32_t>{8}, {1, 2, 3}})
    for (const std::uint32_t shards : {1U, 2U, 3U}) {
      TcpJobOptions options{.shares = shares, .shards = shards};
      options.optimizer = clipping_optimizer();
      check_against_reference(options);
      options.near_shards = 1;
      check_against_reference(options);
    }
  TcpJobOptions clipped;
  clipped.optimizer = clipping_optimizer();
  CHECK_FALSE(reference(clipped, 6).weights == reference({}, 6).weights);
}

TEST_CASE("a worker that joins late gets the weights before it trains") {
  TcpJob job({.shares = {1, 1}});
  std::latch other_is_there(1);
  std::thread other([&] {
    other_is_there.count_down();
    TcpWorker worker(job, 1);  // waits for the initial weights, which are the other's
    worker.iterate(0);
  });
  other_is_there.wait();

  TcpWorker first(job, 0);
  first.iterate(0);
  other.join();

  CHECK(first.weights() == reference(job.options(), 1).weights);
}

TEST_CASE("a snapshot sent while training goes on is the state of its boundary") {
  constexpr std::uint64_t kBoundary = 5;
  TcpJob job({.flat_size = 200003});
  TcpWorker worker(job, 0);
  for (std::uint64_t iteration = 0; iteration < kBoundary; ++iteration) worker.iterate(iteration);
  IoThread controller;
  const Pipe pipe(job.shard(0).io(), controller.context());
  std::vector<std::vector<float>> vectors(2, std::vector<float>(job.options().flat_size));

  auto received = asio::co_spawn(
      controller.context(), collect_state(pipe.receiver, job.layout(), vectors), asio::use_future);
  job.shard(0).on_thread([&] {
    ShardServer& server = job.shard(0).server();
    server.begin_snapshot(kBoundary);
    asio::co_spawn(job.shard(0).io(), server.send_snapshot(pipe.sender), asio::detached);
  });
  for (std::uint64_t iteration = kBoundary; iteration < 2 * kBoundary; ++iteration)
    worker.iterate(iteration);
  received.get();

  const TrainedState at_boundary = reference(job.options(), kBoundary);
  CHECK(vectors[0] == at_boundary.weights);
  CHECK(vectors[1] == at_boundary.momentum);
  CHECK(worker.weights() == reference(job.options(), 2 * kBoundary).weights);
}

TEST_CASE("a snapshot that is still being sent stays as it is when the next one is taken") {
  TcpJob job({.flat_size = 300'003});
  TcpWorker worker(job, 0);
  IoThread controller;
  const Pipe first(job.shard(0).io(), controller.context()),
      second(job.shard(0).io(), controller.context());
  std::uint64_t iteration = 0;
  for (const Pipe* pipe : {&first, &second}) {
    for (int i = 0; i < 2; ++i) worker.iterate(iteration++);
    job.shard(0).on_thread([&] {
      ShardServer& server = job.shard(0).server();
      server.begin_snapshot(iteration);
      CHECK_THROWS_AS(server.begin_snapshot(iteration), ProtocolError);
      asio::co_spawn(job.shard(0).io(), server.send_snapshot(pipe->sender), asio::detached);
    });
    for (int i = 0; i < 2; ++i) worker.iterate(iteration++);  // by then all of it is copied
    while (job.shard(0).on_thread([&] { return job.shard(0).server().is_copying(); })) {
    }
  }

  for (const Pipe* pipe : {&first, &second}) {
    std::vector<std::vector<float>> vectors(2, std::vector<float>(job.options().flat_size));
    asio::co_spawn(controller.context(), collect_state(pipe->receiver, job.layout(), vectors),
                   asio::use_future)
        .get();
    const TrainedState expected = reference(job.options(), pipe == &first ? 2 : 6);
    CHECK(vectors[0] == expected.weights);
    CHECK(vectors[1] == expected.momentum);
  }
}

TEST_CASE("a snapshot of another iteration than the shard's is refused") {
  TcpJob job({});
  TcpWorker worker(job, 0);
  worker.iterate(0);

  const auto ask_for = [&](std::uint64_t iteration) {
    job.shard(0).on_thread([&] { job.shard(0).server().begin_snapshot(iteration); });
  };

  CHECK_THROWS_AS(ask_for(0), ProtocolError);
  CHECK_THROWS_AS(ask_for(2), ProtocolError);
  CHECK_NOTHROW(ask_for(1));
}

TEST_CASE("a shard that is lost ends the wait of its workers, named") {
  TcpJobOptions options{.shares = {1, 1}};
  auto job = std::make_unique<TcpJob>(options);
  TcpWorker worker(*job, 0);
  worker.begin(0);  // the other never brings its part

  job.reset();

  CHECK_FALSE(worker.synchroniser().finish());
  CHECK_THAT(worker.synchroniser().problem(), Catch::Contains("shard 0"));
}

TEST_CASE("a worker that is interrupted before it joins does not begin to connect") {
  asio::io_context door;
  tcp::acceptor silent = listen_on(door, {"127.0.0.1", 0});
  silent.non_blocking(true);
  TcpJob job({});
  SyncGroup group = job.group(0);
  group.shards[0].port = silent.local_endpoint().port();
  IoThread io;
  SteadyClock clock;
  TcpSynchroniser synchroniser(io.context(), clock, job.layout(), job.credentials());

  synchroniser.interrupt();
  CHECK_FALSE(synchroniser.join(group, write_initial_weights));

  tcp::socket nobody(door);
  boost::system::error_code error;
  silent.accept(nobody, error);
  CHECK(error == asio::error::would_block);
  synchroniser.allow();
  CHECK(synchroniser.join(job.group(0), write_initial_weights));
}

TEST_CASE("a worker that is interrupted while it connects is done with it") {
  asio::io_context door;
  const tcp::acceptor silent = listen_on(door, {"127.0.0.1", 0});
  TcpJob job({});
  SyncGroup group = job.group(0);
  group.shards[0].port = silent.local_endpoint().port();
  IoThread io;
  SteadyClock clock;
  TcpSynchroniser synchroniser(io.context(), clock, job.layout(), job.credentials());

  for (int trial = 0; trial < 20; ++trial) {
    std::thread interrupting([&] { synchroniser.interrupt(); });
    CHECK_FALSE(synchroniser.join(group, write_initial_weights));
    interrupting.join();
    synchroniser.allow();
  }
  CHECK(synchroniser.join(job.group(0), write_initial_weights));
}

TEST_CASE("a shard with another secret is not connected to") {
  TcpJob job({});
  IoThread io;
  SteadyClock clock;
  TcpSynchroniser synchroniser(io.context(), clock, job.layout(), JobCredentials::generate());

  CHECK_FALSE(synchroniser.join(job.group(0), write_initial_weights));
  CHECK_THAT(synchroniser.problem(), Catch::Contains("handshake"));
}
