// A worker through several memberships: halted at any moment, it says where it stands and goes on
// where it is told.
#include <catch2/catch.hpp>
#include <deque>
#include <thread>

#include "runtime/worker/worker.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/worker/quadratic_job.h"

using namespace scavenger;

namespace {

JobConfig small_config() {
  JobConfig config;
  config.optimizer.learning_rate = 0.1;
  for (DataSourceConfig* split : {&config.data.train, &config.data.test}) {
    split->format = DataFormat::kSynthetic;
    split->samples = 100;
    split->feature_count = 16;
  }
  config.data.classes = 2;
  return config;
}

// A worker on a thread of its own, and the controller's end of its conversation.
class WorkerThread final {
 public:
  WorkerThread() : thread_([this] { live(); }) {}
  ~WorkerThread() {
    tell(Stop{});
    thread_.join();
  }

  void tell(ControlMessage message) { commands_.put(std::move(message)); }
  void configure(std::uint32_t epoch, std::uint64_t iteration, std::uint32_t rank = 0,
                 std::optional<float> passes = {}) {
    ConfigureWorker message;
    message.group.rank = rank;
    message.group.membership = {epoch, 10, {6, 4}, iteration, 10 * iteration};
    message.group.slots = {0, 1};
    message.group.writes_initial_weights = epoch == 1;
    message.has_buffers = passes.has_value();
    message.buffers.assign(16, passes.value_or(0.0F));
    tell(message);
  }
  // The next message of this kind; statistics before it are remembered.
  template <typename Message>
  Message expect() {
    std::unique_lock lock(mutex_);
    for (;;) {
      REQUIRE(
          said_changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !said_.empty(); }));
      ControlMessage message = std::move(said_.front());
      said_.pop_front();
      if (const auto* wanted = std::get_if<Message>(&message)) return *wanted;
      const auto* stats = std::get_if<IterationStats>(&message);
      REQUIRE(stats != nullptr);
      REQUIRE(stats->first == reported_until);
      reported_until += stats->loss_sum.size();
    }
  }
  void join(std::uint32_t epoch, std::uint64_t iteration, std::uint32_t rank = 0) {
    configure(epoch, iteration, rank);
    CHECK(expect<Ready>().membership_epoch == epoch);
    reported_until = iteration;
  }
  // Trains until it waits in this iteration.
  void train_into(std::uint64_t iteration) {
    synchroniser->waits_from = iteration;
    tell(Train{iteration + 1});
    std::unique_lock lock(mutex_);
    REQUIRE(said_changed_.wait_for(lock, std::chrono::seconds(20),
                                   [&] { return begun_iteration_ == iteration; }));
  }

  LocalSynchroniser* synchroniser = nullptr;  // the worker's, which owns it
  QuadraticTrainer* trainer = nullptr;
  std::uint64_t reported_until = 0;
  int joins_with_vectors = 0;

 private:
  void live() {
    const TemporaryFolder cache;
    const JobConfig config = small_config();
    const DataSet train = DataSet::open(config.data, Split::kTrain, cache.path());
    const DataSet test = DataSet::open(config.data, Split::kTest, cache.path());
    ManualClock clock;
    QuadraticTrainer own_trainer(clock);
    trainer = &own_trainer;
    Worker worker({config, train, test, own_trainer, commands_, clock},
                  {.make_synchroniser =
                       [this](const SyncGroup&) {
                         auto made = std::make_unique<LocalSynchroniser>();
                         synchroniser = made.get();
                         made->before_join = [this] {
                           if (trainer->holds_vectors) ++joins_with_vectors;
                         };
                         return made;
                       },
                   .use_threads = [](std::uint32_t) {},
                   .post = [this](ControlMessage message) { hear(std::move(message)); },
                   .begins_iteration =
                       [this](const WorkerIteration& begun) {
                         const std::lock_guard lock(mutex_);
                         begun_iteration_ = begun.iteration;
                         said_changed_.notify_one();
                       }});
    worker.run();
  }
  void hear(ControlMessage message) {
    const std::lock_guard lock(mutex_);
    said_.push_back(std::move(message));
    said_changed_.notify_one();
  }

  WorkerCommands commands_;
  std::mutex mutex_;
  std::condition_variable said_changed_;
  std::deque<ControlMessage> said_;
  std::optional<std::uint64_t> begun_iteration_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("a worker halted in an iteration drops it, and says what it had done before") {
  WorkerThread worker;
  worker.join(1, 0);
  worker.train_into(3);

  worker.tell(Halt{});
  const auto halted = worker.expect<Halted>();

  CHECK(halted.iteration == 3);
  CHECK(halted.has_weights);
  CHECK(halted.buffers.at(0) == 3.0F);  // not 4: the fourth pass does not count
  CHECK(worker.reported_until == 3);
}

TEST_CASE("a worker tells how it uses its device, and again only if that has changed") {
  WorkerThread worker;
  worker.join(1, 0);
  DeviceUse use{"GPU 0", 1000, 2000, 8000, 0};
  worker.trainer->use = use;
  worker.train_into(1);
  CHECK(worker.expect<DeviceUse>() == use);
  use.most_used_bytes = 1010;  // by less than a fiftieth
  worker.trainer->use = use;
  worker.tell(Halt{});
  worker.expect<Halted>();

  worker.join(2, 1);
  worker.train_into(2);  // a second iteration
  use.graphs = 1;
  worker.trainer->use = use;
  worker.tell(Halt{});
  worker.expect<Halted>();
  worker.join(3, 2);
  worker.train_into(4);  // a fourth
  CHECK(worker.expect<DeviceUse>() == use);
}

TEST_CASE("the trainer has let go of all vectors whenever the memory may move") {
  WorkerThread worker;
  worker.join(1, 0);
  worker.train_into(3);
  CHECK(worker.trainer->holds_vectors);
  worker.tell(Halt{});
  worker.expect<Halted>();
  worker.join(2, 3);
  CHECK(worker.synchroniser->groups.size() == 2);
  CHECK(worker.joins_with_vectors == 0);
}

TEST_CASE("an iteration that is repeated starts from the buffers that it had") {
  WorkerThread worker;
  worker.join(1, 0);
  worker.train_into(3);
  worker.tell(Halt{});
  worker.expect<Halted>();

  worker.join(2, 3, 1);
  worker.train_into(5);
  worker.tell(Halt{});

  CHECK(worker.expect<Halted>().buffers.at(0) == 5.0F);
  CHECK(worker.reported_until == 5);
  CHECK(worker.synchroniser->groups.back().rank == 1);
}

TEST_CASE("an iteration that the others have finished counts in the buffers") {
  WorkerThread worker;
  worker.join(1, 0);
  worker.train_into(3);
  worker.tell(Halt{});
  worker.expect<Halted>();

  worker.join(2, 4);
  worker.train_into(5);
  worker.tell(Halt{});

  CHECK(worker.expect<Halted>().buffers.at(0) == 5.0F);
}

TEST_CASE("buffers that come with a membership are taken") {
  WorkerThread worker;
  worker.configure(1, 0, 0, 40.0F);
  worker.expect<Ready>();

  worker.tell(Halt{});

  CHECK(worker.expect<Halted>().buffers.at(0) == 40.0F);
}

TEST_CASE("a halt before the first membership, or a second one, is answered as well") {
  WorkerThread worker;
  worker.tell(Halt{});
  CHECK_FALSE(worker.expect<Halted>().has_weights);
  worker.tell(Halt{});
  CHECK(worker.expect<Halted>().iteration == 0);

  worker.join(1, 0);

  worker.tell(Halt{});
  CHECK(worker.expect<Halted>().has_weights);
}

TEST_CASE("a halt takes the grant back") {
  WorkerThread worker;
  worker.join(1, 0);
  worker.synchroniser->waits_from = 0;
  worker.tell(Train{1000});
  worker.tell(Halt{});
  worker.expect<Halted>();

  worker.join(2, 0);
  worker.tell(SendBuffers{});
  worker.expect<Buffers>();
  worker.tell(Halt{});

  CHECK(worker.expect<Halted>().iteration == 0);
}

TEST_CASE("a lost connection makes a worker stuck, until it is halted and joins others") {
  WorkerThread worker;
  worker.join(1, 0);
  worker.train_into(2);

  worker.synchroniser->break_connection();
  CHECK(worker.expect<Stuck>().reason == "shard 0 is gone");
  worker.tell(Halt{});
  CHECK(worker.expect<Halted>().iteration == 2);

  worker.join(2, 2);
  worker.train_into(4);
  worker.tell(Halt{});
  CHECK(worker.expect<Halted>().iteration == 4);
}

TEST_CASE("a worker told to stop in mid-iteration leaves it and ends") {
  WorkerThread worker;
  worker.join(1, 0);
  worker.train_into(2);  // and its destructor says stop
}

TEST_CASE("a job that begins anew begins with the buffers that it began with") {
  WorkerThread worker;
  worker.join(1, 0);
  worker.train_into(3);
  worker.tell(Halt{});
  worker.expect<Halted>();

  worker.join(2, 0);
  worker.tell(Halt{});

  CHECK(worker.expect<Halted>().buffers.at(0) == 0.0F);
}
