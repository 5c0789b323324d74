// Workers in processes of their own, as on real hosts: those that are said to be on one host find
// each other's memory through /proc.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>

#include "ps/host/host_synchroniser.h"
#include "runtime/base/log.h"
#include "test/unit/ps/tcp/tcp_job.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

constexpr std::uint64_t kFlatSize = 5003;
constexpr std::uint64_t kIterations = 6;

// Before there are threads, as in the programs: ThreadSanitizer does not see the log library's
// lock.
[[maybe_unused]] const bool kLogStarted = (start_log("test", LogLevel::kWarning), true);

struct Pipe {
  Pipe() { REQUIRE(::pipe(ends.data()) == 0); }
  ~Pipe() {
    for (const int end : ends) ::close(end);
  }
  template <typename Item>
  void send(const Item* items, std::size_t count) const {
    const auto* bytes = reinterpret_cast<const char*>(items);
    for (std::size_t sent = 0; sent < count * sizeof(Item);)
      sent += static_cast<std::size_t>(::write(ends[1], bytes + sent, count * sizeof(Item) - sent));
  }
  template <typename Item>
  void receive(Item* items, std::size_t count) const {
    auto* bytes = reinterpret_cast<char*>(items);
    for (std::size_t got = 0; got < count * sizeof(Item);) {
      const auto piece = ::read(ends[0], bytes + got, count * sizeof(Item) - got);
      if (piece <= 0) ::_exit(3);
      got += static_cast<std::size_t>(piece);
    }
  }
  std::array<int, 2> ends{};
};

// What the parent tells all workers: where the shards are, and who everybody is.
struct Places {
  std::array<std::uint16_t, 4> ports{};
  std::array<std::int64_t, 8> pids{};
};

struct HostJob {
  std::vector<std::uint32_t> shares;
  std::vector<std::uint32_t> hosts;  // by rank
  std::uint32_t shards = 2;
  bool spread = false;  // shard i is on host i, and the first host's is near to its workers
};

TcpJobOptions options_of(const HostJob& job) {
  scavenger::Membership membership{1, 0, job.shares, 0, 0};
  TcpJobOptions options{.shares = contributors_of(membership, job.hosts).shares,
                        .shards = job.shards,
                        .flat_size = kFlatSize};
  return options;
}

SyncGroup group_of(const HostJob& job, std::uint32_t rank, const Places& places) {
  SyncGroup group;
  group.rank = rank;
  group.membership = {1, 0, job.shares, 0, 0};
  for (const std::uint32_t share : job.shares) group.membership.batch_size += share;
  for (std::uint32_t i = 0; i < job.shares.size(); ++i) group.slots.push_back(i);
  group.hosts = job.hosts;
  if (!job.hosts.empty()) {
    const auto uplink = std::ranges::find(job.hosts, job.hosts[rank]) - job.hosts.begin();
    group.uplink_pid = places.pids[static_cast<std::size_t>(uplink)];
  }
  for (std::uint32_t i = 0; i < job.shards; ++i)
    group.shards.push_back({"127.0.0.1", places.ports[i], job.spread && job.hosts[rank] == i});
  group.writes_initial_weights = rank == 0;
  return group;
}

// A worker process: trains, and sends its weights and norms.
[[noreturn]] void work(const HostJob& job, std::uint32_t rank, const JobCredentials& credentials,
                       const Pipe& places_pipe, const Pipe& answer) {
  Places places;
  places_pipe.receive(&places, 1);
  IoThread io;
  SteadyClock clock;
  HostSynchroniser synchroniser(io.context(), clock, ChunkLayout(kFlatSize, 4096, job.shards),
                                credentials);
  SyncResult result;
  if (!synchroniser.join(group_of(job, rank, places), write_initial_weights)) ::_exit(1);
  for (std::uint64_t iteration = 0; iteration < kIterations; ++iteration) {
    synchroniser.begin(iteration);
    write_gradient(synchroniser.weights(), iteration, rank, synchroniser.gradients());
    for (std::uint64_t last = kFlatSize; last > 0; last = last > 777 ? last - 777 : 0)
      synchroniser.gradient_ready(last > 777 ? last - 777 : 0, last);
    const auto finished = synchroniser.finish();
    if (!finished) ::_exit(2);
    result = *finished;
  }
  answer.send(synchroniser.weights().data(), kFlatSize);
  answer.send(&result, 1);
  ::_exit(0);
}

struct Answer {
  std::vector<float> weights = std::vector<float>(kFlatSize);
  SyncResult result;
};

std::vector<Answer> train(const HostJob& job) {
  const JobCredentials credentials = JobCredentials::generate();
  std::vector<Pipe> places_pipes(job.shares.size()), answers(job.shares.size());
  Places places;
  for (std::uint32_t rank = 0; rank < job.shares.size(); ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) work(job, rank, credentials, places_pipes[rank], answers[rank]);
    places.pids[rank] = pid;
  }
  std::vector<std::unique_ptr<ShardHost>> shards;
  for (std::uint32_t i = 0; i < job.shards; ++i) {
    shards.push_back(std::make_unique<ShardHost>(options_of(job), credentials, i));
    places.ports[i] = shards.back()->port();
  }
  std::vector<Answer> result(job.shares.size());
  for (const Pipe& pipe : places_pipes) pipe.send(&places, 1);
  for (std::size_t rank = 0; rank < result.size(); ++rank) {
    answers[rank].receive(result[rank].weights.data(), kFlatSize);
    answers[rank].receive(&result[rank].result, 1);
  }
  for (std::size_t rank = 0; rank < result.size(); ++rank) {
    int status = -1;
    ::waitpid(static_cast<pid_t>(places.pids[rank]), &status, 0);
    CHECK(status == 0);
  }
  return result;
}

}  // namespace

TEST_CASE("the shards see a host's workers as one, with their batch") {
  const scavenger::Membership membership{3, 21, {1, 2, 3, 4, 5, 6}, 7, 70};

  const auto contributors = contributors_of(membership, {9, 2, 9, 2, 5, 9});

  CHECK(contributors.shares == std::vector<std::uint32_t>{1 + 3 + 6, 2 + 4, 5});
  CHECK(contributors.batch_size == 21);
  CHECK(contributors_of(membership, {}) == membership);
}

TEST_CASE("hosts with one worker each give the bits of workers without hosts") {
  const auto apart = train({.shares = {3, 5}, .hosts = {0, 1}});

  const TrainedState expected = reference({.shares = {3, 5}}, kIterations);
  CHECK(apart[0].weights == expected.weights);
  CHECK(apart[1].weights == expected.weights);
}

TEST_CASE("workers of one host bring one gradient: the same weights up to the order of sums") {
  const std::vector<std::uint32_t> shares = {2, 3, 4, 1, 6};

  const auto together = train({.shares = shares, .hosts = {0, 0, 1, 0, 2}});
  const auto again = train({.shares = shares, .hosts = {0, 0, 1, 0, 2}});

  const TrainedState flat = reference({.shares = shares}, kIterations);
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    CHECK(together[rank].weights == together[0].weights);
    CHECK(again[rank].weights == together[0].weights);
    CHECK(together[rank].result.local_gradient_sqr_norm ==
          Approx(flat.results[rank].local_gradient_sqr_norm).epsilon(1e-4));
    CHECK(together[rank].result.global_gradient_sqr_norm ==
          Approx(flat.results[rank].global_gradient_sqr_norm).epsilon(1e-4));
  }
  for (std::size_t i = 0; i < kFlatSize; ++i)
    REQUIRE(together[0].weights[i] == Approx(flat.weights[i]).epsilon(1e-4).margin(1e-5));
}

TEST_CASE("a shard on each host that works in its workers' memory gives the same bits") {
  const HostJob apart{.shares = {2, 3, 4}, .hosts = {0, 0, 1}};
  HostJob spread = apart;
  spread.spread = true;

  const auto far = train(apart), near = train(spread);

  for (std::size_t rank = 0; rank < far.size(); ++rank)
    CHECK(near[rank].weights == far[rank].weights);
}
