#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <list>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "ps/shm/segment_keeper.h"
#include "ps/shm/shm_synchroniser.h"
#include "runtime/base/error.h"
#include "test/unit/ps/tcp/tcp_job.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

FileDescriptor duplicate(const FileDescriptor& file) {
  return FileDescriptor(::dup(file.get()));
}

// A keeper and workers of one job, each with the segment mapped for itself, as their processes
// have.
class ShmJob final {
 public:
  explicit ShmJob(TcpJobOptions options)
      : options_(std::move(options)), membership_(membership_of(options_)) {
    make_keeper();
    configure(false);
  }

  void make_keeper() {
    keeper_ = std::make_unique<SegmentKeeper>(io_, duplicate(file_), options_.optimizer,
                                              options_.chunk_bytes);
  }
  void configure(bool has_state, std::uint64_t optimizer_steps = 0) {
    const bool goes_on = !has_state && Segment::weights_in(file_.get());
    keeper_->configure(
        {0, 1, options_.flat_size, 60000, optimizer_steps, goes_on, has_state, membership_});
  }
  // The next membership, from the keeper's iteration on.
  void reshape(std::vector<std::uint32_t> shares) {
    membership_.first_position = membership_.position_at(keeper_->progress().iteration);
    membership_.first_iteration = keeper_->progress().iteration;
    membership_.shares = std::move(shares);
    membership_.batch_size = 0;
    for (const std::uint32_t share : membership_.shares) membership_.batch_size += share;
    ++membership_.epoch;
    configure(false);
  }

  // Workers that are made from now on have so many computing threads.
  void use_threads(std::uint32_t threads) { threads_ = threads; }
  // How often such threads have divided work.
  int times_divided() const { return times_divided_; }

  std::unique_ptr<ShmSynchroniser> make_worker(bool crowded = true) {
    const SegmentShape shape{
        options_.flat_size, options_.chunk_bytes,
        static_cast<std::uint32_t>(Optimizer(options_.optimizer).state_names().size())};
    return std::make_unique<ShmSynchroniser>(
        Segment::attach(file_.get(), shape), clock_,
        ShmSynchroniser::Options{options_.optimizer, 60000, crowded ? 0U : 64U, in_parallel()});
  }
  SyncGroup group(std::uint32_t rank) const {
    SyncGroup group;
    group.rank = rank;
    group.membership = membership_;
    for (std::uint32_t i = 0; i < membership_.workers(); ++i) group.slots.push_back(3 * i);
    group.writes_initial_weights = rank == 0 && membership_.first_iteration == 0;
    group.threads = threads_;
    return group;
  }

  asio::io_context& io() { return io_; }
  SegmentKeeper& keeper() { return *keeper_; }
  const TcpJobOptions& options() const { return options_; }

 private:
  InParallel in_parallel() {
    if (threads_ == 1) return {};
    return [this, threads = threads_](const std::function<void()>& work) {
      ++times_divided_;
      std::vector<std::jthread> others;
      while (others.size() + 1 < threads) others.emplace_back(work);
      work();
    };
  }

  TcpJobOptions options_;
  scavenger::Membership membership_;
  FileDescriptor file_ = make_shared_file();
  asio::io_context io_{1};
  SteadyClock clock_;
  std::unique_ptr<SegmentKeeper> keeper_;
  std::uint32_t threads_ = 1;
  std::atomic<int> times_divided_{0};
};

void bring_gradient(ShmSynchroniser& worker, std::uint64_t iteration, std::uint32_t rank,
                    bool works_ahead = false) {
  worker.begin(iteration);
  write_gradient(worker.weights(), iteration, rank, worker.gradients());
  for (std::uint64_t last = worker.weights().size(); last > 0;) {
    const std::uint64_t first = last > 777 ? last - 777 : 0;
    worker.gradient_ready(first, last);
    while (works_ahead && worker.work_ahead()) {
    }
    last = first;
  }
}

struct Trained {
  std::vector<float> weights;
  SyncResult result;
  bool is_told = true;  // of all weights, if it follows them
};

// Keeps a copy of the weights that is made of what the synchroniser tells within finish(), as a
// device does.
struct Follower {
  explicit Follower(Synchroniser& synchroniser) : weights(synchroniser.weights().size()) {
    synchroniser.tell_of_weights(
        [this](std::span<float> next, std::uint64_t begin, std::uint64_t end) {
          std::copy(next.begin() + static_cast<std::ptrdiff_t>(begin),
                    next.begin() + static_cast<std::ptrdiff_t>(end),
                    weights.begin() + static_cast<std::ptrdiff_t>(begin));
          floats += end - begin;
        });
  }
  // Each weight was told of once, and was final by then.
  bool holds(Synchroniser& synchroniser) {
    return std::exchange(floats, 0) == weights.size() &&
           std::ranges::equal(weights, synchroniser.weights());
  }
  std::vector<float> weights;
  std::uint64_t floats = 0;
};

// All ranks of the job's membership train through [first, last).
std::vector<Trained> train(ShmJob& job, std::uint64_t first, std::uint64_t last,
                           bool follows = false) {
  const auto workers = job.group(0).membership.workers();
  std::vector<Trained> trained(workers);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    threads.emplace_back([&job, &mine = trained[rank], rank, first, last, follows] {
      const auto worker = job.make_worker(rank % 2 == 0);
      std::optional<Follower> follower;
      REQUIRE(worker->join(job.group(rank), write_initial_weights));
      if (follows) follower.emplace(*worker);
      for (std::uint64_t iteration = first; iteration < last; ++iteration) {
        bring_gradient(*worker, iteration, rank, /*works_ahead=*/iteration % 2 == 1);
        mine.result = worker->finish().value();
        if (follower) mine.is_told = mine.is_told && follower->holds(*worker);
      }
      mine.weights.assign(worker->weights().begin(), worker->weights().end());
    });
  for (std::thread& thread : threads) thread.join();
  return trained;
}

// Reads the kState frames of a snapshot.
awaitable<void> collect_state(std::shared_ptr<FrameConnection> connection, ChunkLayout layout,
                              std::vector<std::vector<float>>& vectors) {
  for (auto& vector : vectors)
    for (std::uint32_t chunk = 0; chunk < layout.chunk_count(); ++chunk) {
      const FrameHeader header = co_await connection->receive_header(1u << 20);
      const ChunkRange range = layout.range(header.chunk);
      co_await connection->receive_payload(
          std::as_writable_bytes(std::span(vector).subspan(range.first, range.size)));
    }
}

void check_against_reference(const TcpJobOptions& options, std::uint32_t threads = 1,
                             bool follows = false) {
  constexpr std::uint64_t kIterations = 7;
  ShmJob job(options);
  job.use_threads(threads);

  const auto trained = train(job, 0, kIterations, follows);

  const TrainedState expected = reference(options, kIterations);
  for (std::size_t rank = 0; rank < trained.size(); ++rank) {
    CHECK(trained[rank].weights == expected.weights);
    CHECK(trained[rank].is_told);
    CHECK(trained[rank].result.local_gradient_sqr_norm ==
          expected.results[rank].local_gradient_sqr_norm);
    CHECK(trained[rank].result.global_gradient_sqr_norm ==
          expected.results[rank].global_gradient_sqr_norm);
  }
  CHECK(job.keeper().progress() == ShardProgress{kIterations, kIterations});
  if (threads > 1 && trained.size() == 1)  // then all chunks are ready at once
    CHECK(job.times_divided() >= static_cast<int>(kIterations));
}

}  // namespace

TEST_CASE("in shared memory weights and norms are those of one thread, bit for bit, for any K") {
  for (const std::vector<std::uint32_t>& shares :
       {std::vector<std::uint32_t>{8}, {4, 4}, {1, 2, 3, 4}})
    check_against_reference({.shares = shares});
}

TEST_CASE("in shared memory neither the chunks nor the optimizer change a bit") {
  check_against_reference({.shares = {3, 5}, .flat_size = 2003, .chunk_bytes = 64});
  check_against_reference({.shares = {3, 5}, .flat_size = 3000, .chunk_bytes = 1 << 20});
  const OptimizerConfig adam{.type = OptimizerType::kAdamW, .weight_decay = 0.01, .schedule = {}};
  check_against_reference({.shares = {3, 5}, .optimizer = adam});
  check_against_reference({.shares = {3, 5}, .optimizer = {.schedule = {}}});
}

TEST_CASE("in shared memory clipping gives the bits that it gives at shards, for any K") {
  for (const std::vector<std::uint32_t>& shares : {std::vector<std::uint32_t>{8}, {1, 2, 3, 4}})
    check_against_reference({.shares = shares, .optimizer = clipping_optimizer()});
}

TEST_CASE("computing threads divide the chunks among themselves, and no bit tells of it") {
  for (const std::vector<std::uint32_t>& shares : {std::vector<std::uint32_t>{8}, {3, 5}}) {
    check_against_reference({.shares = shares, .chunk_bytes = 256}, 3);
    check_against_reference(
        {.shares = shares, .chunk_bytes = 256, .optimizer = clipping_optimizer()}, 2);
  }
}

TEST_CASE("a worker that waits for its device steps what has arrived, and finish() the rest") {
  const TcpJobOptions options{.shares = {8}, .chunk_bytes = 256};
  ShmJob job(options);
  const auto worker = job.make_worker();
  REQUIRE(worker->join(job.group(0), write_initial_weights));
  Follower follower(*worker);
  CHECK_FALSE(worker->work_ahead());
  worker->begin(0);
  CHECK_FALSE(worker->work_ahead());
  write_gradient(worker->weights(), 0, 0, worker->gradients());
  const std::uint64_t all = options.flat_size, half = all / 2 / 64 * 64;
  worker->gradient_ready(half, all);
  while (worker->work_ahead()) {
  }
  CHECK(follower.floats == all - half);
  CHECK(job.keeper().progress().iteration == 0);
  worker->gradient_ready(0, half);
  REQUIRE(worker->finish());
  CHECK(follower.holds(*worker));
  CHECK(std::ranges::equal(worker->weights(), reference(options, 1).weights));
}

TEST_CASE("in shared memory a worker is told of each chunk of new weights, once it is final") {
  for (const std::uint32_t threads : {1U, 3U})
    for (const std::vector<std::uint32_t>& shares : {std::vector<std::uint32_t>{8}, {1, 2, 3}}) {
      check_against_reference({.shares = shares, .chunk_bytes = 256}, threads, /*follows=*/true);
      check_against_reference(
          {.shares = shares, .chunk_bytes = 256, .optimizer = clipping_optimizer()}, threads,
          /*follows=*/true);
    }
}

TEST_CASE("a model too large for the caches is stepped past them, with the same bits") {
  check_against_reference({.shares = {1, 1}, .flat_size = 2'000'003, .chunk_bytes = 1 << 18});
}

TEST_CASE("when a worker vanishes in mid-iteration, the others repeat it, and no bit tells of it") {
  for (const int brought : {0, 1, 2}) {
    ShmJob job({.shares = {2, 2, 2}}), undisturbed({.shares = {2, 2, 2}});
    for (ShmJob* each : {&job, &undisturbed}) {
      train(*each, 0, 2);
      each->reshape({2, 2, 2});
    }
    auto survivor = job.make_worker();
    REQUIRE(survivor->join(job.group(0), write_initial_weights));
    {  // two vanish, having brought nothing, something or everything
      auto second = job.make_worker(), third = job.make_worker();
      REQUIRE(second->join(job.group(1), write_initial_weights));
      REQUIRE(third->join(job.group(2), write_initial_weights));
      bring_gradient(*survivor, 2, 0);
      if (brought > 0) bring_gradient(*second, 2, 1);
      if (brought > 1) {
        third->begin(2);
        third->gradient_ready(3000, 5003);
      }
    }
    std::thread waiting([&] { CHECK_FALSE(survivor->finish()); });
    survivor->interrupt();
    waiting.join();
    CHECK(survivor->problem().empty());
    survivor->allow();

    for (ShmJob* each : {&job, &undisturbed}) each->reshape({3, 3});
    const auto with = train(job, 2, 5), without = train(undisturbed, 2, 5);

    CHECK(with[0].weights == without[0].weights);
    CHECK(job.keeper().progress() == ShardProgress{5, 5});
  }
}

TEST_CASE("a keeper that is replaced finds everything as it was left") {
  ShmJob job({.shares = {4, 4}});
  train(job, 0, 3);

  job.make_keeper();
  CHECK(job.keeper().progress().iteration == 3);
  job.reshape({4, 4});
  const auto trained = train(job, 3, 6);

  CHECK(trained[1].weights == reference(job.options(), 6).weights);
  CHECK(job.keeper().progress() == ShardProgress{6, 6});
}

TEST_CASE("a worker that waits for the initial weights can be interrupted") {
  ShmJob job({.shares = {1, 1}});
  const auto worker = job.make_worker();
  std::thread waiting([&] { CHECK_FALSE(worker->join(job.group(1), write_initial_weights)); });

  worker->interrupt();
  waiting.join();
}

TEST_CASE("a worker that goes on in a membership that is over changes nothing") {
  ShmJob job({.shares = {2, 2}}), undisturbed({.shares = {2, 2}});
  for (ShmJob* each : {&job, &undisturbed}) {
    train(*each, 0, 2);
    each->reshape({2, 2});
  }
  const auto stale = job.make_worker();
  REQUIRE(stale->join(job.group(1), write_initial_weights));
  stale->begin(2);
  for (ShmJob* each : {&job, &undisturbed}) each->reshape({4});  // the same iteration, without it

  stale->gradient_ready(0, job.options().flat_size);
  stale->interrupt();
  CHECK_FALSE(stale->finish());
  const auto with = train(job, 2, 4), without = train(undisturbed, 2, 4);

  CHECK(with[0].weights == without[0].weights);
}

TEST_CASE("a worker of an earlier membership is refused") {
  ShmJob job({.shares = {1}});
  const SyncGroup before = job.group(0);
  train(job, 0, 1);
  job.reshape({1});

  CHECK_THROWS_AS(job.make_worker()->join(before, write_initial_weights), ProtocolError);
}

TEST_CASE("a snapshot that is still being sent stays as it is when the next one is taken") {
  ShmJob job({.shares = {8}, .flat_size = 300'003});
  const ChunkLayout layout(300'003, job.options().chunk_bytes, 1);
  std::list<Pipe> pipes;
  for (const std::uint64_t boundary : {2U, 4U}) {
    if (boundary == 4) job.reshape({8});
    train(job, boundary - 2, boundary);
    pipes.emplace_back(job.io(), job.io());
    job.keeper().begin_snapshot(boundary);
    CHECK_THROWS_AS(job.keeper().begin_snapshot(boundary), ProtocolError);
    asio::co_spawn(job.io(), job.keeper().send_snapshot(pipes.back().sender), asio::detached);
    job.io().poll();  // as far as the pipe takes it
  }

  for (const std::uint64_t boundary : {2U, 4U}) {
    std::vector<std::vector<float>> vectors(2, std::vector<float>(300'003));
    auto& receiver = boundary == 2 ? pipes.front().receiver : pipes.back().receiver;
    auto received =
        asio::co_spawn(job.io(), collect_state(receiver, layout, vectors), asio::use_future);
    job.io().restart();
    while (received.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      job.io().run_one();
    const TrainedState expected = reference(job.options(), boundary);
    CHECK(vectors[0] == expected.weights);
    CHECK(vectors[1] == expected.momentum);
  }
}

TEST_CASE("in shared memory a snapshot is the state of its boundary while training goes on") {
  ShmJob job({.shares = {8}, .flat_size = 100'003});
  train(job, 0, 5);
  job.reshape({8});
  job.keeper().begin_snapshot(5);
  CHECK_THROWS_AS(job.keeper().begin_snapshot(4), ProtocolError);
  const Pipe pipe(job.io(), job.io());
  std::vector<std::vector<float>> vectors(2, std::vector<float>(100'003));
  const ChunkLayout layout(100'003, job.options().chunk_bytes, 1);

  std::thread training([&] { train(job, 5, 9); });  // must wait where it would write over it
  auto received =
      asio::co_spawn(job.io(), collect_state(pipe.receiver, layout, vectors), asio::use_future);
  asio::co_spawn(job.io(), job.keeper().send_snapshot(pipe.sender), asio::detached);
  while (received.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    job.io().run_one();
  training.join();

  const TrainedState at_boundary = reference(job.options(), 5);
  CHECK(vectors[0] == at_boundary.weights);
  CHECK(vectors[1] == at_boundary.momentum);
}

TEST_CASE("the keeper refuses what the controller cannot mean") {
  ShmJob job({.shares = {1}});
  train(job, 0, 2);

  FrameHeader unexpected{
      .type = FrameType::kState, .membership_epoch = UINT32_MAX, .chunk = 0, .rank = 0};
  CHECK_THROWS_AS(job.keeper().load_state(unexpected), ProtocolError);
  CHECK_THROWS_AS(job.configure(false), ProtocolError);  // no new epoch
  CHECK_THROWS_AS(job.keeper().begin_snapshot(1), ProtocolError);
}
