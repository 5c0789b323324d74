#include "runtime/data/batch_loader.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace scavenger {
namespace {

// A batch that tells where it is from.
void assemble_positions(const BatchPlace& place, Batch& batch) {
  batch.first_position = place.first;
  batch.size = place.size;
  batch.features.resize(place.size);
  for (std::uint32_t i = 0; i < place.size; ++i)
    batch.features[i] = static_cast<float>(place.first + i);
}

// Lets a test hold the loader's thread in the middle of assembling.
class Gate final {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_for_arrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ > 0; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

// Read for the first time when next() has to wait: opens the gate then. Each reading is a second
// after the one before.
class GateOpeningClock final : public Clock {
 public:
  explicit GateOpeningClock(Gate& gate) : gate_(gate) {}
  double now_seconds() const override {
    gate_.open();
    return static_cast<double>(readings_++);
  }

 private:
  Gate& gate_;
  mutable int readings_ = 0;
};

constexpr LoadPlan kPlan{
    .first_iteration = 5, .first_position = 1000, .batch_size = 10, .offset = 4, .share = 3};

}  // namespace

TEST_CASE("Batches come in the order of the iterations, each with this worker's slice") {
  const SteadyClock clock;
  BatchLoader loader(assemble_positions, clock);

  loader.start(kPlan);

  for (std::uint64_t i = 0; i < 100; ++i) {
    const LoadedBatch loaded = loader.next();
    REQUIRE(loaded.iteration == 5 + i);
    REQUIRE(loaded.batch.first_position == 1000 + 10 * i + 4);
    REQUIRE(loaded.batch.size == 3);
    REQUIRE(loaded.batch.features[2] == static_cast<float>(1000 + 10 * i + 6));
  }
}

TEST_CASE("A reshape drops what was loaded for the old plan") {
  const SteadyClock clock;
  BatchLoader loader(assemble_positions, clock);
  loader.start(kPlan);
  loader.next();

  for (std::uint64_t reshape = 1; reshape < 200; ++reshape) {
    loader.start({.first_iteration = reshape,
                  .first_position = 100 * reshape,
                  .batch_size = 20,
                  .offset = 1,
                  .share = 2});
    for (std::uint64_t i = 0; i < reshape % 4; ++i) {
      const LoadedBatch loaded = loader.next();
      REQUIRE(loaded.iteration == reshape + i);
      REQUIRE(loaded.batch.first_position == 100 * reshape + 20 * i + 1);
    }
  }
}

TEST_CASE("The buffers of dropped batches are filled again") {
  const SteadyClock clock;
  std::atomic<int> assembled = 0;
  BatchLoader loader(
      [&](const BatchPlace& place, Batch& batch) {
        assemble_positions(place, batch);
        ++assembled;
      },
      clock, 3);

  for (int plan = 1; plan <= 5; ++plan) {
    assembled = 0;
    loader.start(kPlan);
    while (assembled < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  CHECK(loader.next().batch.first_position == 1004);
}

TEST_CASE("A batch that is being assembled during a reshape is dropped as well") {
  const SteadyClock clock;
  Gate gate;
  BatchLoader loader(
      [&gate](const BatchPlace& place, Batch& batch) {
        gate.pass();
        assemble_positions(place, batch);
      },
      clock);
  loader.start(kPlan);
  gate.wait_for_arrival();

  loader.start({.first_iteration = 9, .first_position = 0, .batch_size = 1, .share = 1});
  gate.open();

  const LoadedBatch loaded = loader.next();
  CHECK(loaded.iteration == 9);
  CHECK(loaded.batch.first_position == 0);
}

TEST_CASE("The loader runs ahead by the free buffers and no further") {
  const SteadyClock clock;
  std::atomic<int> assembled = 0;
  std::set<const Batch*> buffers;
  BatchLoader loader(
      [&](const BatchPlace& place, Batch& batch) {
        assemble_positions(place, batch);
        ++assembled;
      },
      clock, 3);
  loader.start(kPlan);

  for (int i = 1; i <= 50; ++i) {
    buffers.insert(&loader.next().batch);
    // One buffer is ours; the loader can have filled no more than the two others.
    REQUIRE(assembled <= i + 2);
  }

  CHECK(buffers.size() <= 3);
}

TEST_CASE("The consumer's batch stays as it is until the next call") {
  const SteadyClock clock;
  std::atomic<int> assembled = 0;
  BatchLoader loader(
      [&](const BatchPlace& place, Batch& batch) {
        assemble_positions(place, batch);
        ++assembled;
      },
      clock, 3);
  loader.start(kPlan);

  const Batch& mine = loader.next().batch;
  while (assembled < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));

  CHECK(mine.first_position == 1004);
  CHECK(mine.features[0] == 1004.0f);
}

TEST_CASE("An error of the loader's thread arrives after the batches before it, and stays") {
  const SteadyClock clock;
  BatchLoader loader(
      [](const BatchPlace& place, Batch& batch) {
        if (place.first >= 1020) throw std::runtime_error("no batch at 1020");
        assemble_positions(place, batch);
      },
      clock);
  loader.start(kPlan);

  CHECK(loader.next().batch.first_position == 1004);
  CHECK(loader.next().batch.first_position == 1014);
  CHECK_THROWS_WITH(loader.next(), "no batch at 1020");
  CHECK_THROWS_WITH(loader.next(), "no batch at 1020");
}

TEST_CASE("A new plan starts afresh after an error") {
  const SteadyClock clock;
  BatchLoader loader(
      [](const BatchPlace& place, Batch& batch) {
        if (place.first >= 1000) throw std::runtime_error("too far");
        assemble_positions(place, batch);
      },
      clock);
  loader.start(kPlan);
  CHECK_THROWS_WITH(loader.next(), "too far");

  loader.start({.first_iteration = 0, .first_position = 0, .batch_size = 10, .share = 10});

  CHECK(loader.next().batch.size == 10);
}

TEST_CASE("Waiting for the loader is measured, and a batch that is there costs no wait") {
  Gate gate;
  const GateOpeningClock clock(gate);
  std::atomic<int> assembled = 0;
  BatchLoader loader(
      [&](const BatchPlace& place, Batch& batch) {
        gate.pass();
        assemble_positions(place, batch);
        ++assembled;
      },
      clock);
  loader.start(kPlan);
  gate.wait_for_arrival();

  const double first_wait_seconds = loader.next().wait_seconds;
  while (assembled < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double second_wait_seconds = loader.next().wait_seconds;

  CHECK(first_wait_seconds == 1.0);
  CHECK(second_wait_seconds == 0.0);
}

TEST_CASE("A loader can be destroyed before it was started, and with batches left over") {
  const SteadyClock clock;

  { BatchLoader never_started(assemble_positions, clock); }
  for (int i = 0; i < 50; ++i) {
    BatchLoader loader(assemble_positions, clock, 2);
    loader.start(kPlan);
    if (i % 2 == 0) loader.next();
  }
}

}  // namespace scavenger
