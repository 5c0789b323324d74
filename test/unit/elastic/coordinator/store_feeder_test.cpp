#include "elastic/coordinator/store_feeder.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

// What several stores, opened one after another, have been given.
struct Deliveries {
  std::mutex mutex;
  std::vector<std::string> names;
  std::atomic<bool> is_broken = false;
  std::mutex gate;  // held: stores are slow
};

class MemoryStore final : public perfmodel::ModelStore {
 public:
  explicit MemoryStore(Deliveries& deliveries) : deliveries_(deliveries) {}
  void record(const perfmodel::ModelRecord& record) override {
    const std::lock_guard slow(deliveries_.gate);
    if (deliveries_.is_broken)
      throw SystemError({.what = "the store is locked", .where = "s.sqlite", .remedy = {}});
    const std::lock_guard lock(deliveries_.mutex);
    deliveries_.names.push_back(record.name);
  }
  std::vector<perfmodel::ModelSummary> list() override { return {}; }
  std::optional<perfmodel::ModelRecord> find(const std::string&) override { return {}; }
  bool forget(const std::string&) override { return false; }
  void record_fit(const std::string&, const std::string&) override {}
  std::optional<std::string> find_fit(const std::string&) override { return {}; }

 private:
  Deliveries& deliveries_;
};

perfmodel::ModelRecord named(const std::string& name) {
  perfmodel::ModelRecord record;
  record.name = name;
  return record;
}

struct Bench {
  Deliveries deliveries;
  StoreFeeder feeder{[this] { return std::make_unique<MemoryStore>(deliveries); }};
};

constexpr double kLong = 60.0;

}  // namespace

TEST_CASE("what is offered arrives, and finishing waits for it") {
  Bench bench;
  bench.feeder.offer(named("a"));
  bench.feeder.finish(kLong);
  CHECK(bench.deliveries.names == std::vector<std::string>{"a"});
  CHECK_FALSE(bench.feeder.take_problem());
}

TEST_CASE("while a store is slow only the latest waits, and nobody waits for it") {
  Bench bench;
  {
    const std::lock_guard slow(bench.deliveries.gate);
    for (const char* name : {"a", "b", "c", "d"}) bench.feeder.offer(named(name));
    CHECK_FALSE(bench.feeder.finish(0.01));
  }
  CHECK(bench.feeder.finish(kLong));
  CHECK(bench.deliveries.names.back() == "d");
  CHECK(bench.deliveries.names.size() <= 2);
}

TEST_CASE("a store that fails is told once, and tried again with the next record") {
  Bench bench;
  bench.deliveries.is_broken = true;
  for (int i = 0; i < 2; ++i) {
    bench.feeder.offer(named("lost"));
    bench.feeder.finish(kLong);
    CHECK(bench.feeder.take_problem().has_value() == (i == 0));
  }
  bench.deliveries.is_broken = false;
  bench.feeder.offer(named("kept"));
  bench.feeder.finish(kLong);
  CHECK(bench.deliveries.names == std::vector<std::string>{"kept"});
  CHECK_FALSE(bench.feeder.take_problem());
}
