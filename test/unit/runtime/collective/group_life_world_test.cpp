// Some workers, their watchdogs, a library that connects and adds up only if all take part, and a
// controller that halts whoever is left after a loss. Steps of all of them are interleaved at
// random, and workers die at any step. Whatever happens, those that are left complete their work.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "runtime/collective/group_life.h"

using namespace scavenger;
using Stage = GroupLife::Stage;

namespace {

constexpr GroupLimits kWorldLimits{
    .connect_seconds = 300, .operation_seconds = 300, .end_seconds = 5000};
constexpr std::uint64_t kOperations = 5;  // in each membership

// What the library knows about one membership.
struct Group {
  std::vector<std::size_t> members;
  std::set<std::size_t> come;
  std::map<std::size_t, std::uint64_t> begun, done;
};

enum class At { kHalted, kLeaving, kConnecting, kWorking, kWaiting, kGivingUp, kDone };

struct Worker {
  GroupLife life{kWorldLimits};
  At at = At::kHalted;
  std::uint64_t epoch = 0;  // that it is in, or joins
  std::uint64_t told = 0;   // the newest that it was told
  std::uint64_t attempt = 0;
  std::uint64_t connections = 0, ends = 0;
  bool is_alive = true;
  bool has_problem = false;  // it gave up without having been told to
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed), workers_(2 + seed % 4) { form(); }

  // Returns the number of steps until all that are left are done.
  std::optional<int> run() {
    for (int step = 0; step < 20000; ++step) {
      now_ += 1.0;
      if (kills_ < 3 && one_in(60)) kill();
      control();
      const std::size_t i = random_() % workers_.size();
      if (workers_[i].is_alive) one_in(3) ? watch(workers_[i]) : work(i);
      if (is_done()) return step;
    }
    return std::nullopt;
  }
  std::size_t alive() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(workers_, [](const Worker& w) { return w.is_alive; }));
  }
  const std::vector<Worker>& workers() const { return workers_; }

 private:
  bool one_in(std::uint64_t n) { return random_() % n == 0; }

  void kill() {
    Worker& victim = workers_[random_() % workers_.size()];
    if (!victim.is_alive || alive() == 1) return;
    victim.is_alive = false;
    ++kills_;
    is_news_ = true;
  }

  // The controller sees a loss, or a worker that is stuck, some time later.
  void control() {
    if (!halting_ && is_news_ && one_in(20)) {
      halting_ = true;
      is_news_ = false;
      for (Worker& w : workers_) w.life.interrupt(now_);
    }
    const bool all_halted = std::ranges::all_of(workers_, [](const Worker& w) {
      return !w.is_alive || w.at == At::kHalted || w.at == At::kDone;
    });
    if (halting_ && all_halted) form();
  }

  void form() {
    Group group;
    ++epoch_;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (!workers_[i].is_alive) continue;
      workers_[i].life.allow();
      workers_[i].told = epoch_;
      workers_[i].has_problem = false;
      workers_[i].at = At::kHalted;
      group.members.push_back(i);
    }
    groups_[epoch_] = group;
    halting_ = false;
  }

  bool is_done() const {
    return std::ranges::all_of(workers_, [this](const Worker& w) {
      return !w.is_alive || (w.at == At::kDone && w.epoch == epoch_);
    });
  }

  bool all_have(const Group& group, const std::map<std::size_t, std::uint64_t>& counts,
                std::uint64_t least) const {
    return std::ranges::all_of(group.members, [&](std::size_t i) {
      const auto found = counts.find(i);
      return found != counts.end() && found->second >= least;
    });
  }

  // One step of a worker's thread.
  void work(std::size_t i) {
    Worker& w = workers_[i];
    Group& group = groups_[w.epoch];
    switch (w.at) {
      case At::kHalted:
        if (w.told == w.epoch) return;
        w.epoch = w.told;
        w.life.leave(now_);
        w.at = At::kLeaving;
        return;
      case At::kLeaving: {
        w.life.check(now_);
        REQUIRE(w.life.stage() != Stage::kStuck);
        if (w.life.stage() == Stage::kEnding) return;
        const auto attempt = w.life.begin_connecting(now_);
        w.attempt = attempt.value_or(0);
        if (attempt) group.come.insert(i);
        w.at = attempt ? At::kConnecting : At::kGivingUp;
        return;
      }
      case At::kConnecting:
        if (w.life.wants(w.attempt)) {
          if (group.come.size() == group.members.size() && w.life.connected(w.attempt, now_))
            ++w.connections;
          return;
        }
        w.at = w.life.operates() ? At::kWorking : At::kGivingUp;
        return;
      case At::kWorking:
        if (group.done[i] == kOperations) {
          w.at = At::kDone;
        } else if (w.life.begin_operation(now_)) {
          ++group.begun[i];
          w.at = At::kWaiting;
        } else {
          w.at = At::kGivingUp;
        }
        return;
      case At::kWaiting:
        if (!w.life.operates()) {
          w.at = At::kGivingUp;
        } else if (all_have(group, group.begun, group.done[i] + 1)) {
          ++group.done[i];
          w.life.complete_operation(now_);
          w.at = At::kWorking;
        }
        return;
      case At::kGivingUp:
        w.life.leave(now_);
        if (w.life.stage() != Stage::kNone) return;
        if (!w.life.problem().empty()) is_news_ = true;
        w.at = At::kHalted;
        return;
      case At::kDone:
        return;
    }
  }

  // One step of its watchdog. To end a connection takes it a while.
  void watch(Worker& w) {
    w.life.check(now_);
    if (w.ends < w.connections && w.life.take_end(now_)) {
      ending_.insert(&w);
      ++w.ends;
    } else if (ending_.contains(&w) && one_in(5)) {
      ending_.erase(&w);
      w.life.ended();
    }
    REQUIRE_FALSE(w.life.has_end());
  }

  std::mt19937_64 random_;
  std::vector<Worker> workers_;
  std::map<std::uint64_t, Group> groups_;
  std::set<Worker*> ending_;
  double now_ = 0.0;
  std::uint64_t epoch_ = 0;
  int kills_ = 0;
  bool is_news_ = false, halting_ = false;
};

}  // namespace

TEST_CASE("in any order of events those that are left complete their work, and nobody waits") {
  std::size_t losses = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    World world(seed);
    REQUIRE(world.run().has_value());
    losses += world.workers().size() - world.alive();
    for (const Worker& w : world.workers()) {
      CHECK(w.ends <= w.connections);
      // All but the present connection were ended, unless the worker died before.
      if (w.is_alive) CHECK(w.connections - w.ends == (w.life.operates() ? 1 : 0));
    }
  }
  CHECK(losses > 200);  // the test is about them
}
