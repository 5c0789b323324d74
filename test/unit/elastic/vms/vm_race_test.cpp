// A search for the machine type in a job on a virtual clock, whose machines' times are known.
#include "elastic/vms/race/vm_race.h"

#include "elastic/plan/measured_machines.h"
#include "elastic/vms/race/race_view.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"
#include "test/unit/elastic/vms/race_job.h"

namespace scavenger::elastic {
namespace {

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

TEST_CASE("A job moves to a type that saves more than half before it auditions the next one") {
  std::vector<TrueType> types = kTypes;
  types[2].speed = 20.0;
  VmRaceSetting setting = setting_of(types, 2000.0);
  setting.policy = Policy::kMinimumTime;
  RaceJob job(types, setting, 2);
  job.run();
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kSettled);
  const auto auditions = job.steps(VmPhase::kAudition);
  const auto moves = job.steps(VmPhase::kTrying);
  REQUIRE(auditions.size() == 2);
  REQUIRE(moves.size() == 1);
  CHECK(auditions[0].machine_type == "good");
  CHECK(moves[0].machine_type == "good");
  CHECK(moves[0].iteration < auditions[1].iteration);
  // It goes on from there, and finds no better type, but a better number.
  const auto begun = job.steps(VmPhase::kBegun);
  REQUIRE(begun.size() >= 2);
  for (std::size_t i = 1; i < begun.size(); ++i) CHECK(begun[i].machine_type == "good");
  CHECK(begun[1].leaving == std::vector<std::uint32_t>{0, 1});
  CHECK(job.last().machine_type == "good");
  for (const std::string& type : job.machines()) CHECK(type == "good");
  check_replay(job, setting);

  // If there is none any more, the job stays at once, asks no second time, and looks at the others.
  RaceJob refused(types, setting, 2);
  while (refused.steps(VmPhase::kProbing).size() < 2) refused.train();
  refused.refuse("good");
  refused.lose(refused.last().worker);
  refused.run(1500);
  INFO(refused.story());
  CHECK(refused.phase() == VmPhase::kSettled);
  CHECK(refused.steps(VmPhase::kTrying).size() == 1);
  CHECK(refused.steps(VmPhase::kAudition).size() == 2);
  CHECK(refused.numbers().seconds < 60.0);  // it would wait for 300 s
  check_replay(refused, setting);
}

TEST_CASE("A trial that does not do what was predicted leads back") {
  std::vector<TrueType> types = kTypes;
  types[2].from_share = 255.5;  // no audition goes so far
  VmRaceSetting setting = setting_of(types, 200.0);
  setting.max_vms = 1;
  RaceJob job(types, setting, 1);
  job.run();
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kSettled);
  const auto trials = job.steps(VmPhase::kTrying);
  REQUIRE(trials.size() == 1);
  CHECK(trials[0].machine_type == "good");
  CHECK(job.last().machine_type == "base");
  CHECK(job.steps(VmPhase::kMoving).size() == 1);  // it has trained there before
  CHECK(job.machines() == std::multiset<std::string>{"base"});
  check_replay(job, setting);
}

TEST_CASE("Another number of machines is a trial, too, and may lead back") {
  std::vector<TrueType> types = {kTypes.front()};
  types[0].sync_seconds = 0.05;
  types[0].from_share = 200.0;  // half of the batch fits into a cache, and all of it does not
  const VmRaceSetting setting = setting_of(types, 200.0);
  RaceJob job(types, setting, 2);
  job.run();
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kSettled);
  const auto begun = job.steps(VmPhase::kBegun);
  REQUIRE(begun.size() == 2);
  CHECK(begun[1].workers == 1);
  CHECK(job.last().workers == 2);
  CHECK(job.machines().size() == 2);
  check_replay(job, setting);
}

// Both look alike, but for the price; how fast a type synchronises shows in no audition.
std::vector<TrueType> base_and_near(double sync_seconds_of_near) {
  std::vector<TrueType> types = {kTypes[0], kTypes[0]};
  types[0].sync_seconds = 0.1;
  types[1].name = "near";
  types[1].sync_seconds = sync_seconds_of_near;
  types[1].price = 1.1;
  return types;
}

TEST_CASE("A type whose pace is uncertain is tried, though it is not expected to be better") {
  for (const double sync_seconds : {0.005, 0.1}) {
    VmRaceSetting setting = setting_of(base_and_near(sync_seconds), 200.0);
    setting.max_vms = 1;
    RaceJob job(base_and_near(sync_seconds), setting, 1);
    job.run();
    INFO(job.story());
    REQUIRE(job.phase() == VmPhase::kSettled);
    REQUIRE(job.steps(VmPhase::kTrying).size() == 1);
    CHECK(job.steps(VmPhase::kTrying)[0].reason.find("may be better") != std::string::npos);
    CHECK(job.last().machine_type == (sync_seconds < 0.1 ? "near" : "base"));
    check_replay(job, setting);
  }
  // A job that ends soon does not pay for it.
  VmRaceSetting brief = setting_of(base_and_near(0.005), 0.2);
  brief.max_vms = 1;
  RaceJob job(base_and_near(0.005), brief, 1);
  job.run();
  INFO(job.story());
  CHECK(job.steps(VmPhase::kTrying).empty());
}

TEST_CASE("A type that no audition repays is tried once, at its own pace") {
  // The 75 iterations of an audition would be a fifth of the job.
  const std::vector<TrueType> types = base_and_near(0.005);
  VmRaceSetting setting = setting_of(types, 1.0);
  setting.max_vms = 1;
  for (const bool is_there : {true, false}) {
    RaceJob job(types, setting, 1);
    if (!is_there) job.refuse("near");
    job.run();
    INFO(job.story());
    REQUIRE(job.phase() == VmPhase::kSettled);
    CHECK(job.steps(VmPhase::kAudition).empty());
    CHECK(job.steps(VmPhase::kTrying).size() == 1);
    CHECK(job.last().machine_type == (is_there ? "near" : "base"));
    const char* const known =
        is_there ? "1 other type was measured" : "no audition is expected to repay itself";
    CHECK(job.last().reason.find(known) != std::string::npos);
    check_replay(job, setting);
  }
  // Within the budget only.
  setting.profile_budget = 1e-4;
  RaceJob frugal(types, setting, 1);
  frugal.run();
  CHECK(frugal.steps(VmPhase::kTrying).empty());
}

TEST_CASE("A trial takes the place of an audition that would cost more") {
  const std::vector<TrueType> types = base_and_near(0.005);
  for (const double epochs : {10.0, 200.0}) {
    VmRaceSetting setting = setting_of(types, epochs);
    setting.max_vms = 1;
    RaceJob job(types, setting, 1);
    job.run();
    INFO(job.story());
    REQUIRE(job.phase() == VmPhase::kSettled);
    CHECK(job.steps(VmPhase::kAudition).size() == (epochs < 100.0 ? 0 : 1));
    CHECK(job.last().machine_type == "near");
    check_replay(job, setting);
  }
}

TEST_CASE("A job grows on its type for a trial, with as many machines as come") {
  for (const bool is_refused : {false, true}) {
    VmRaceSetting setting = setting_of({kTypes.front()}, 200.0);
    setting.policy = Policy::kMinimumTime;
    setting.max_vms = 3;
    RaceJob job({kTypes.front()}, setting, 1);
    if (is_refused) job.refuse("base");
    job.run();
    INFO(job.story());
    REQUIRE(job.phase() == VmPhase::kSettled);
    REQUIRE(job.steps(VmPhase::kBegun).size() == 2);
    CHECK(job.steps(VmPhase::kBegun)[1].workers == 3);
    CHECK(job.last().workers == (is_refused ? 1 : 3));
    CHECK(job.numbers().seconds < 60.0);  // it would wait for 300 s
    check_replay(job, setting);
  }
}

TEST_CASE("A job that cannot keep its limit where it is auditions what may keep it") {
  std::vector<TrueType> types = kTypes;
  types[2].price = 6.0;  // too dear for what its cores promise, unless there is a hurry
  for (const double limit : {0.0, 4000.0}) {
    VmRaceSetting setting = setting_of(types, 200.0);
    setting.max_vms = 2;
    setting.stop.max_seconds = limit;
    RaceJob job(types, setting, 2);
    job.run();
    INFO(job.story());
    REQUIRE(job.phase() == VmPhase::kSettled);
    const auto auditions = job.steps(VmPhase::kAudition);
    const bool has_good = std::ranges::count(auditions, "good", &VmStep::machine_type) > 0;
    CHECK(has_good == (limit > 0.0));
    if (limit == 0.0) continue;
    CHECK(job.last().machine_type == "good");
    CHECK(job.last().reason.find("the limits hold with 9") != std::string::npos);
    check_replay(job, setting);
  }
}

TEST_CASE("The money of a limit that pays for the end of the job is not there to train with") {
  VmRaceSetting setting = setting_of(kTypes, 2000.0);
  setting.stop.max_cost = 1.0;
  RaceJob job(kTypes, setting, 2);
  job.train();
  const double spent = job.numbers().bill.cost(job.numbers().seconds);
  REQUIRE(spent > 0.0);
  // Two machines at a dollar an hour, for eight seconds.
  CHECK(RaceView(setting, job.numbers()).money_left() == Approx(1.0 - spent - 2.0 * 8.0 / 3600.0));
}

TEST_CASE("An audition that lengthens the iterations tells how fast its type synchronises") {
  std::vector<TrueType> types = kTypes;
  types[2].speed = 20.0;
  for (const double sync : {0.005, 0.3}) {
    types[1].sync_seconds = sync;
    VmRaceSetting setting = setting_of(types, 2000.0);
    setting.policy = Policy::kMinimumTime;
    RaceJob job(types, setting, 2);
    job.run();
    INFO(job.story());
    REQUIRE(job.steps(VmPhase::kAudition).size() == 2);
    // The good one was auditioned beside slower machines, and lengthened nothing.
    const auto rows = measured_machines(job.numbers()).lengthened;
    REQUIRE(!rows.empty());
    for (const perfmodel::TimeRow& row : rows) {
      CHECK(row.machine == "bad");
      const double share = row.batch_size / row.workers;
      CHECK(row.seconds == Approx(0.01 + 0.001 * share / 0.7 + sync).epsilon(0.02));
    }
    check_replay(job, setting);
  }
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

// What the job's store would have of it.
perfmodel::ModelRecord record_of(const RaceJob& job) {
  perfmodel::ModelRecord record = measured_machines(job.numbers()).record;
  record.signature.architecture = "a1";
  record.signature.parameters = 42;
  for (auto* rows : {&record.times, &record.compute})
    for (perfmodel::TimeRow& row : *rows) row.job = "first";
  return record;
}

TEST_CASE("A second job of the model auditions no type that the first one has measured") {
  VmRaceSetting setting = setting_of(kTypes, 200.0);
  RaceJob first(kTypes, setting, 2);
  first.run();
  REQUIRE(first.steps(VmPhase::kAudition).size() == 2);
  setting.stored = {record_of(first)};
  RaceJob second(kTypes, setting, 2);
  second.run();
  INFO(second.story());
  REQUIRE(second.phase() == VmPhase::kSettled);
  CHECK(second.steps(VmPhase::kAudition).empty());
  CHECK(second.last().machine_type == "good");
  REQUIRE(second.steps(VmPhase::kMoving).size() == 1);
  CHECK(second.steps(VmPhase::kMoving)[0].reason.find("2 types are known from earlier jobs") !=
        std::string::npos);
  check_replay(second, setting);

  // Another model has measured nothing of this one's.
  setting.stored[0].signature.architecture = "b2";
  RaceJob other(kTypes, setting, 2);
  other.run();
  CHECK(other.steps(VmPhase::kAudition).size() == 2);
  check_replay(other, setting);
}

TEST_CASE("A type that the earlier jobs have not had is auditioned") {
  VmRaceSetting setting = setting_of({kTypes[0], kTypes[1]}, 200.0);
  RaceJob first({kTypes[0], kTypes[1]}, setting, 2);
  first.run();
  setting = setting_of(kTypes, 200.0);
  setting.stored = {record_of(first)};
  RaceJob second(kTypes, setting, 2);
  second.run();
  INFO(second.story());
  for (const VmStep& audition : second.steps(VmPhase::kAudition))
    CHECK(audition.machine_type == "good");
  CHECK(second.steps(VmPhase::kAudition).size() == 1);
  CHECK(second.last().machine_type == "good");
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

TEST_CASE("Nobody asks a settled job again, unless its limits or its policy are others") {
  const VmRaceSetting setting = setting_of(kTypes, 200.0);
  RaceJob settled(kTypes, setting, 2);
  settled.run();
  REQUIRE(settled.phase() == VmPhase::kSettled);
  RunNumbers numbers = settled.numbers();
  numbers.starts.add(numbers.starts.latest.back());
  CHECK(resume_race(numbers).empty());
  numbers.starts.latest.back().fact.limits.max_seconds = 10.0;
  const auto again = resume_race(numbers);
  REQUIRE(again.size() == 1);
  CHECK(std::get<VmStep>(again[0]).phase == VmPhase::kBegun);
  CHECK(std::get<VmStep>(again[0]).machine_type == "good");
  CHECK(!begins_after_move(std::get<VmStep>(again[0])));
  numbers = settled.numbers();
  numbers.starts.add(numbers.starts.latest.back());
  numbers.starts.latest.back().fact.policy = Policy::kMinimumTime;
  CHECK(resume_race(numbers).empty());  // an older log does not say what it was before
  numbers.starts.latest.end()[-2].fact.policy = Policy::kMinimumCost;
  REQUIRE(resume_race(numbers).size() == 1);
  CHECK_THAT(std::get<VmStep>(resume_race(numbers)[0]).reason, Catch::Contains("another policy:"));
}

TEST_CASE("Where every worker has one sample there is none for another one") {
  std::vector<TrueType> types = kTypes;
  for (TrueType& type : types) type.count = 1000.0;
  RaceJob job(types, setting_of(types, 200.0), 256);  // as many as a batch has samples
  job.run(100);
  INFO(job.story());
  CHECK(job.phase() == VmPhase::kSettled);
  const auto begun = job.steps(VmPhase::kBegun);
  REQUIRE(begun.size() >= 2);
  CHECK(begun[1].workers < 256);  // some leave first
  for (const VmPhase phase : {VmPhase::kAudition, VmPhase::kTrying, VmPhase::kMoving})
    for (const VmStep& step : job.steps(phase)) {
      CHECK(step.iteration > begun[1].iteration);
      CHECK(step.workers <= step.batch_size);
    }
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
  CHECK(job.steps(VmPhase::kDismissed).size() + job.steps(VmPhase::kTrying).size() > 0);
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
  config.batching.dead_band = 0.2;
  CHECK(vm_race_setting(config, catalogue).dead_band == 0.2);
  config.search.mode = SearchMode::kFull;
  CHECK_THROWS_AS(vm_race_setting(config, catalogue), InputError);
  CHECK(!searches_size(config));
  // Then K and B come with the type.
  config.search.mode = SearchMode::kAuto;
  config.search.batch_sizes = {64, 128};
  CHECK(vm_race_setting(config, catalogue).batch_sizes == std::vector<std::uint32_t>{64, 128});
  config.provider.settings = R"({"type":"emulated"})";
  CHECK(!seeks_machine_type(config.provider));
  CHECK(searches_size(config));
}

}  // namespace
}  // namespace scavenger::elastic
