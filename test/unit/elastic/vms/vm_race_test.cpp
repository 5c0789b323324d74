// A search for the machine type in a job on a virtual clock, whose machines' times are known.
#include "elastic/vms/vm_race.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "elastic/history/run_summary.h"
#include "elastic/vms/vm_race_replay.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"

namespace scavenger::elastic {
namespace {

using fact::VmPhase;
using fact::VmStep;

// What is true of a type, and what it says of itself.
struct TrueType {
  std::string name;
  double cores = 1.0;
  double speed = 1.0;  // samples of the job per millisecond, one core of "base" does 1
  double price = 1.0;
  double count = 16.0;
  bool is_refused = false;
};

VmRaceSetting setting_of(const std::vector<TrueType>& truth, double max_epochs) {
  VmRaceSetting setting;
  for (const TrueType& one : truth) {
    VmType type;
    type.features.name = one.name;
    type.features.family = one.name;
    type.features.rate = one.cores;
    type.features.core_rate = 1.0;
    type.features.link = 1.0;
    type.price = one.price;
    type.max_count = one.count;
    setting.types.push_back(type);
  }
  setting.policy = Policy::kMinimumCost;
  setting.sharing = perfmodel::Sharing::kDynamic;
  setting.stop.max_epochs = max_epochs;
  return setting;
}

// Does what the race asks for, as the controller would.
class RaceJob final {
 public:
  RaceJob(std::vector<TrueType> truth, VmRaceSetting setting, std::uint32_t workers)
      : truth_(std::move(truth)), setting_(std::move(setting)) {
    fact::Start start;
    start.samples_per_epoch = 100000;
    log(start);
    wanted_ = begin_race(setting_, workers, kBatch);
    log(wanted_);
    // If there is none of the first type, the machines are of the next one.
    for (std::uint32_t worker = 0; worker < workers; ++worker)
      for (const std::string& type : first_types(setting_, workers))
        if (hire(worker, type)) break;
    make_membership();
  }

  // How many iterations come between two decisions.
  void log_every(std::uint32_t iterations) { series_iterations_ = iterations; }
  // A worker is lost, and nobody has come in its place yet.
  void lose(std::uint32_t worker) {
    workers_.erase(worker);
    make_membership();
  }

  // Its machine is taken away, and one of the type that is not auditioned comes in its place. With
  // notice it leaves in order, and its machine is released.
  void take_away(std::uint32_t worker, const std::string& replacement, bool has_notice) {
    if (!has_notice) log_machine(worker, workers_.at(worker), fact::MachineChange::kLost);
    workers_.erase(worker);
    make_membership();
    hire(worker + 1, replacement);
    make_membership();
  }

  // Until the race has settled, or so many series have passed.
  void run(int series = 400) {
    for (int i = 0; i < series && phase() != VmPhase::kSettled; ++i) train();
  }

  void train() {
    fact::Iterations logged;
    logged.membership_epoch = epoch_;
    logged.first = iteration_;
    logged.count = series_iterations_;
    logged.workers.resize(workers_.size());
    for (std::uint32_t n = 0; n < logged.count; ++n) {
      double slowest = 0.0;
      std::uint32_t rank = 0;
      for (const auto& [worker, type] : workers_) {
        const double seconds =
            (0.01 + 0.001 * shares_[rank] / speed_of(type)) * std::exp(0.01 * random_.normal());
        fact::WorkerSeries& one = logged.workers[rank];
        one.rank = rank++;
        one.data_wait.push_back(0.0);
        one.forward.push_back(0.4 * seconds);
        one.backward.push_back(0.6 * seconds);
        one.sync_wait.push_back(0.005);
        one.local_sqr_norm.push_back(1.0);
        slowest = std::max(slowest, seconds);
      }
      const double seconds = slowest + 0.005;  // to the shards beside the controller
      logged.loss.push_back(1.0);
      logged.global_sqr_norm.push_back(1.0);
      logged.seconds.push_back(seconds);
      time_ += seconds;
    }
    logged.learning_rate = 0.1;
    iteration_ += logged.count;
    log(logged);
    for (const RunEvent& event : continue_race(setting_, summary_.numbers())) {
      log(event);
      obey(std::get<VmStep>(event));
    }
  }

  VmPhase phase() const { return wanted_.phase; }
  const VmStep& last() const { return wanted_; }
  std::vector<VmStep> steps(VmPhase phase) const {
    std::vector<VmStep> found;
    for (const LoggedEvent& logged : events_)
      if (const auto* step = std::get_if<VmStep>(&logged.event); step && step->phase == phase)
        found.push_back(*step);
    return found;
  }
  std::string story() const {
    std::string text;
    for (const LoggedEvent& logged : events_)
      if (std::holds_alternative<VmStep>(logged.event)) text += to_json_line(logged) + "\n";
    return text;
  }
  const std::vector<LoggedEvent>& events() const { return events_; }
  std::multiset<std::string> machines() const {
    std::multiset<std::string> types;
    for (const auto& [worker, type] : workers_) types.insert(type);
    return types;
  }
  const RunNumbers& numbers() const { return summary_.numbers(); }
  double largest_slowdown() const { return largest_slowdown_; }

 private:
  static constexpr std::uint32_t kBatch = 256;

  const TrueType& truth_of(const std::string& type) const {
    return *std::ranges::find(truth_, type, &TrueType::name);
  }
  double speed_of(const std::string& type) const { return truth_of(type).speed; }

  void log(RunEvent event) {
    events_.push_back({time_, std::move(event)});
    summary_.apply(events_.back());
  }

  void log_machine(std::uint32_t worker, const std::string& type, fact::MachineChange change) {
    fact::Machine machine;
    machine.name = "vm" + std::to_string(worker);
    machine.change = change;
    machine.worker = worker;
    machine.machine_type = type;
    machine.price_per_hour = truth_of(type).price;
    log(machine);
  }

  bool hire(std::uint32_t worker, const std::string& type) {
    log_machine(worker, type, fact::MachineChange::kRequested);
    time_ += 2.0;
    if (truth_of(type).is_refused) {
      log_machine(worker, type, fact::MachineChange::kRefused);
      return false;
    }
    log_machine(worker, type, fact::MachineChange::kReady);
    workers_[worker] = type;
    return true;
  }

  void make_membership() {
    fact::Membership membership;
    membership.membership_epoch = ++epoch_;
    membership.workers = static_cast<std::uint32_t>(workers_.size());
    membership.batch_size = kBatch;
    membership.first_iteration = iteration_;
    membership.position = iteration_ * kBatch;
    double speeds = 0.0;
    std::uint32_t left = kBatch;
    for (const auto& [worker, type] : workers_) {
      membership.indices.push_back(worker);
      if (pinned_.contains(worker))
        left -= pinned_[worker];
      else
        speeds += speed_of(type);
    }
    std::uint32_t last = 0;
    for (std::size_t rank = 0; rank < membership.indices.size(); ++rank) {
      const std::uint32_t worker = membership.indices[rank];
      const double share = left * speed_of(workers_[worker]) / speeds;
      membership.shares.push_back(pinned_.contains(worker) ? pinned_[worker]
                                                           : static_cast<std::uint32_t>(share));
      if (!pinned_.contains(worker)) last = static_cast<std::uint32_t>(rank);
    }
    std::uint32_t sum = 0;
    for (const std::uint32_t share : membership.shares) sum += share;
    membership.shares[last] += kBatch - sum;
    shares_ = membership.shares;
    note_slowdown(membership);
    log(membership);
  }

  // Of a pinned worker against the slowest of the others.
  void note_slowdown(const fact::Membership& membership) {
    double pinned = 0.0, others = 0.0;
    for (std::size_t rank = 0; rank < membership.indices.size(); ++rank) {
      const std::uint32_t worker = membership.indices[rank];
      double& slowest = pinned_.contains(worker) ? pinned : others;
      slowest = std::max(slowest, 0.01 + 0.001 * shares_[rank] / speed_of(workers_[worker]));
    }
    if (others > 0.0) largest_slowdown_ = std::max(largest_slowdown_, pinned / others);
  }

  void obey(const VmStep& step) {
    wanted_ = step;
    pinned_.clear();
    if (step.share > 0) pinned_[step.worker] = step.share;
    for (const std::uint32_t worker : step.leaving)
      if (workers_.contains(worker)) {
        log_machine(worker, workers_[worker], fact::MachineChange::kReleased);
        workers_.erase(worker);
      }
    while (workers_.size() > step.workers) workers_.erase(std::prev(workers_.end()));
    for (std::uint32_t worker = 0; workers_.size() < step.workers; ++worker)
      if (!workers_.contains(worker) && !hire(worker, wanted_.machine_type)) break;
    make_membership();
  }

  const std::vector<TrueType> truth_;
  const VmRaceSetting setting_;
  RunSummary summary_;
  std::vector<LoggedEvent> events_;
  std::map<std::uint32_t, std::string> workers_;
  std::map<std::uint32_t, std::uint32_t> pinned_;
  std::vector<std::uint32_t> shares_;
  VmStep wanted_;
  double time_ = 0.0;
  std::uint64_t iteration_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t series_iterations_ = 5;
  double largest_slowdown_ = 0.0;
  RandomStream random_{7, "race", {}};
};

// "good" does three times as much for its price as "base", though its cores promise as much.
const std::vector<TrueType> kTypes = {{.name = "base", .cores = 2.0, .speed = 2.0, .price = 1.0},
                                      {.name = "bad", .cores = 2.0, .speed = 0.7, .price = 1.05},
                                      {.name = "good", .cores = 4.0, .speed = 9.0, .price = 2.1}};

void check_replay(const RaceJob& job, const VmRaceSetting& setting) {
  AdvisorReplay replay = race_replay([&](const fact::Start&) { return setting; });
  for (const LoggedEvent& logged : job.events()) {
    const auto difference = replay.add(logged);
    INFO(difference.value_or(""));
    CHECK(!difference);
  }
  CHECK(replay.decisions() > 0);
}

TEST_CASE("A job auditions types, one share after the other, and moves to the best") {
  const VmRaceSetting setting = setting_of(kTypes, 200.0);
  RaceJob job(kTypes, setting, 2);
  CHECK(job.last().machine_type == "base");
  job.run();
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kSettled);
  CHECK(job.last().machine_type == "good");
  for (const std::string& type : job.machines()) CHECK(type == "good");
  // Three shares, the smallest first, of which none slows the others by more than is stated.
  const auto auditions = job.steps(VmPhase::kAudition);
  REQUIRE(!auditions.empty());
  const auto probes = job.steps(VmPhase::kProbing);
  CHECK(probes.size() == 2 * auditions.size());
  CHECK(probes[0].share > auditions[0].share);
  CHECK(probes[1].share > probes[0].share);
  CHECK(job.largest_slowdown() < kMostSlowdown * 1.1);
  CHECK(job.numbers().iterations_repeated == 0);
  check_replay(job, setting);
}

TEST_CASE("A type that is worse leaves again, and the job stays") {
  const std::vector<TrueType> types = {kTypes[0], kTypes[1]};
  const VmRaceSetting setting = setting_of(types, 2000.0);
  RaceJob job(types, setting, 2);
  job.run();
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kSettled);
  CHECK(job.last().machine_type == "base");
  for (const std::string& type : job.machines()) CHECK(type == "base");
  check_replay(job, setting);
}

TEST_CASE("A job too short to repay an audition keeps the catalogue's plan, and says so") {
  const VmRaceSetting setting = setting_of(kTypes, 0.3);
  RaceJob job(kTypes, setting, 2);
  job.run();
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kSettled);
  CHECK(job.steps(VmPhase::kAudition).empty());
  CHECK(job.last().machine_type == "base");
  CHECK(job.last().reason.find("no audition") != std::string::npos);
  check_replay(job, setting);
}

TEST_CASE("If there is no machine of a candidate, the next one is tried") {
  std::vector<TrueType> types = kTypes;
  types.push_back({.name = "gone", .cores = 4.0, .speed = 20.0, .price = 2.05, .is_refused = true});
  const VmRaceSetting setting = setting_of(types, 200.0);
  RaceJob job(types, setting, 2);
  job.run();
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kSettled);
  CHECK(job.last().machine_type == "good");
  check_replay(job, setting);
}

TEST_CASE("A job begins on the next type if there is no machine of the first one") {
  std::vector<TrueType> types = kTypes;
  types.push_back({.name = "gone", .cores = 2.0, .speed = 2.0, .price = 0.9, .is_refused = true});
  const VmRaceSetting setting = setting_of(types, 200.0);
  RaceJob job(types, setting, 2);
  CHECK(job.last().machine_type == "gone");
  job.run();
  INFO(job.story());
  const auto begun = job.steps(VmPhase::kBegun);
  REQUIRE(begun.size() == 2);
  CHECK(begun[1].machine_type == "base");
  CHECK(begun[1].reason.find("no gone") != std::string::npos);
  REQUIRE(job.phase() == VmPhase::kSettled);
  CHECK(job.last().machine_type == "good");
  check_replay(job, setting);
}

TEST_CASE("If the VM is taken away in its audition, that ends at once, and the next one is tried") {
  const VmRaceSetting setting = setting_of(kTypes, 200.0);
  for (const auto& [when, has_notice] :
       {std::pair(VmPhase::kAudition, false), std::pair(VmPhase::kProbing, false),
        std::pair(VmPhase::kProbing, true)}) {
    RaceJob job(kTypes, setting, 2);
    while (job.phase() != when) job.train();
    const std::string type = job.last().machine_type;
    job.take_away(job.last().worker, "base", has_notice);
    const double before = job.numbers().seconds;
    job.train();
    INFO(job.story());
    REQUIRE(job.phase() == VmPhase::kDismissed);
    CHECK(job.numbers().seconds - before < 10.0);
    CHECK(job.last().reason == "the " + type + " was lost");
    job.run();
    REQUIRE(job.phase() == VmPhase::kSettled);
    CHECK(job.last().machine_type == (type == "good" ? "base" : "good"));
    check_replay(job, setting);
  }
}

TEST_CASE("Money to finish on the incumbent is kept: then nothing is auditioned") {
  VmRaceSetting setting = setting_of(kTypes, 200.0);
  setting.stop.max_cost = 1e-3;
  RaceJob job(kTypes, setting, 2);
  job.run();
  INFO(job.story());
  CHECK(job.steps(VmPhase::kAudition).empty());
  VmRaceSetting thrifty = setting_of(kTypes, 200.0);
  thrifty.profile_budget = 1e-6;
  RaceJob frugal(kTypes, thrifty, 2);
  frugal.run();
  CHECK(frugal.steps(VmPhase::kAudition).empty());
}

TEST_CASE("Somebody else's decision ends the race, and a resume gives an audition up") {
  const VmRaceSetting setting = setting_of(kTypes, 200.0);
  RaceJob job(kTypes, setting, 2);
  for (int i = 0; i < 100 && job.phase() != VmPhase::kAudition; ++i) job.train();
  REQUIRE(job.phase() == VmPhase::kAudition);
  const auto resumed = resume_race(job.numbers());
  REQUIRE(resumed.size() == 1);
  CHECK(std::get<VmStep>(resumed[0]).phase == VmPhase::kDismissed);
  CHECK(std::get<VmStep>(resumed[0]).machine_type == "base");
  CHECK(std::get<VmStep>(resumed[0]).workers == 2);
  const auto ended = end_race(job.numbers(), 5, 256, "resized by the user");
  REQUIRE(ended.size() == 1);
  CHECK(std::get<VmStep>(ended[0]).phase == VmPhase::kEnded);
  // A machine that can never be had takes only its audition with it.
  const auto refused = end_race(job.numbers(), 2, 256, "no machine can be had");
  CHECK(std::get<VmStep>(refused[0]).phase == VmPhase::kDismissed);
}

TEST_CASE("Where every worker has one sample there is none for another one") {
  std::vector<TrueType> types = kTypes;
  for (TrueType& type : types) type.count = 1000.0;
  RaceJob job(types, setting_of(types, 200.0), 256);  // as many as a batch has samples
  job.run(20);
  INFO(job.story());
  CHECK(job.phase() == VmPhase::kSettled);
  CHECK(job.steps(VmPhase::kAudition).empty());
  for (const VmStep& step : job.steps(VmPhase::kMoving)) CHECK(step.workers <= step.batch_size);
}

TEST_CASE("A membership that has just begun, and has measured nothing, says nothing of the job") {
  VmRaceSetting setting = setting_of(kTypes, 0.0);  // nobody knows how long it is
  setting.profile_budget = 10.0;
  setting.policy = Policy::kMinimumTime;
  RaceJob job(kTypes, setting, 2);
  job.log_every(1);
  job.run(4000);
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kSettled);
  CHECK(job.steps(VmPhase::kDismissed).size() + job.steps(VmPhase::kMoving).size() > 0);
  CHECK(job.story().find("inf") == std::string::npos);
  CHECK(job.story().find("nan") == std::string::npos);
  check_replay(job, setting);
}

TEST_CASE("No audition begins while one of the job's own workers is missing") {
  const VmRaceSetting setting = setting_of(kTypes, 200.0);
  RaceJob job(kTypes, setting, 3);
  job.lose(1);
  for (int i = 0; i < 40; ++i) job.train();
  INFO(job.story());
  CHECK(job.phase() == VmPhase::kBegun);
}

TEST_CASE("The first type is the cheapest for its cores of which there are enough") {
  std::vector<TrueType> types = kTypes;
  CHECK(begin_race(setting_of(types, 1.0), 2, 64).machine_type == "base");
  types[1].price = 0.1;
  types[1].count = 1.0;
  CHECK(begin_race(setting_of(types, 1.0), 2, 64).machine_type == "base");
  CHECK(begin_race(setting_of(types, 1.0), 1, 64).machine_type == "bad");
}

TEST_CASE("Settings that do not go together are refused before anything starts") {
  JobConfig config;
  config.provider.type = ProviderType::kEmulated;
  config.provider.settings =
      R"({"type":"emulated","vms":{"mode":"auto","types":"x*","confidence":0.9,"profile_budget":0,"max_vms":8}})";
  CHECK(seeks_machine_type(config.provider));
  MachinePrice price;
  price.per_hour = 1.0;
  MachineCatalogue catalogue;
  catalogue.entries = {{.type = "y", .cores = 1.0, .on_demand = price}};
  CHECK_THROWS_AS(vm_race_setting(config, catalogue), InputError);
  catalogue.entries.push_back({.type = "xl", .cores = 1.0, .on_demand = price});
  CHECK(vm_race_setting(config, catalogue).types.size() == 1);
  config.search.mode = SearchMode::kAuto;
  CHECK_THROWS_AS(vm_race_setting(config, catalogue), InputError);
  config.provider.settings = R"({"type":"emulated"})";
  CHECK(!seeks_machine_type(config.provider));
}

}  // namespace
}  // namespace scavenger::elastic
