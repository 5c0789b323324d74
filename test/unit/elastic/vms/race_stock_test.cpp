// Machines that there are not, or that are taken away, in a search for the machine type.
#include "elastic/vms/race/vm_race.h"
#include "test/unit/elastic/vms/race_job.h"

namespace scavenger::elastic {
namespace {

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
  REQUIRE(begun.size() == 3);
  CHECK(begun[1].machine_type == "base");
  CHECK(begun[2].machine_type == "good");  // to which it has moved
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

TEST_CASE("If the VM has notice before its worker joins, the audition ends as well") {
  const VmRaceSetting setting = setting_of(kTypes, 200.0);
  RaceJob job(kTypes, setting, 2);
  job.take_before_it_joins("good", "base");
  while (job.phase() != VmPhase::kAudition || job.last().machine_type != "good") job.train();
  const double before = job.numbers().seconds;
  job.train();
  INFO(job.story());
  REQUIRE(job.phase() == VmPhase::kDismissed);
  CHECK(job.numbers().seconds - before < 10.0);
  CHECK(job.last().reason == "the good was lost");
  CHECK(job.machines() == std::multiset<std::string>{"base", "base"});
  check_replay(job, setting);
}

TEST_CASE("If there are too few of the first type, its machines go on alone") {
  std::vector<TrueType> types = kTypes;
  types[0].stock = 2;
  const VmRaceSetting setting = setting_of(types, 200.0);
  RaceJob job(types, setting, 3);
  CHECK(job.machines() == std::multiset<std::string>{"bad", "base", "base"});
  job.run();
  INFO(job.story());
  const auto begun = job.steps(VmPhase::kBegun);
  REQUIRE(begun.size() >= 2);
  CHECK(begun[1].machine_type == "base");
  CHECK(begun[1].workers == 2);
  CHECK(begun[1].reason ==
        "goes on with 2 x base: workers of several types tell too little of each");
  REQUIRE(job.phase() == VmPhase::kSettled);
  CHECK(job.last().machine_type == "good");
  check_replay(job, setting);
}

}  // namespace
}  // namespace scavenger::elastic
