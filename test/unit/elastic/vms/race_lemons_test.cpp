// Machines that are much slower than their like, in a job that still seeks its type, on a virtual
// clock.
#include "elastic/vms/race/race_lemons.h"

#include "test/unit/elastic/vms/race_job.h"

namespace scavenger::elastic {
namespace {

// The job begins on "base" and stays there: the others only look better.
const std::vector<TrueType> kAlike = {{.name = "base", .cores = 2.0, .speed = 2.0, .price = 1.0},
                                      {.name = "bad", .cores = 2.0, .speed = 0.7, .price = 1.05},
                                      {.name = "worse", .cores = 2.0, .speed = 0.6, .price = 1.06}};

VmRaceSetting three_workers() {
  VmRaceSetting setting = setting_of(kAlike, 500.0);
  setting.policy = Policy::kKnee;
  setting.max_vms = 3;
  return setting;
}

// Worker 1's takes this many times as long as the others.
void run_with_slow_machine(RaceJob& job, double slowdown) {
  job.log_every(40);
  job.slow_down(1, slowdown);
  job.run();
}

TEST_CASE("A slow machine is replaced while the job still seeks its type") {
  const VmRaceSetting setting = three_workers();
  RaceJob job(kAlike, setting, 3);
  run_with_slow_machine(job, 1.6);
  INFO(job.story());
  const auto replaced = job.steps(VmPhase::kReplacing);
  REQUIRE(replaced.size() == 1);
  CHECK(replaced[0].worker == 1);
  CHECK(replaced[0].machine_type == "base");
  CHECK(replaced[0].workers == 4);
  // The search goes on: the next audition comes afterwards.
  REQUIRE(job.steps(VmPhase::kAudition).size() == 2);
  CHECK(job.steps(VmPhase::kAudition)[0].iteration < replaced[0].iteration);
  CHECK(job.steps(VmPhase::kAudition)[1].iteration > replaced[0].iteration);
  bool has_left = false;
  for (const VmStep& step : job.steps(VmPhase::kDismissed))
    has_left |= step.worker == 1 && step.leaving == std::vector<std::uint32_t>{1};
  CHECK(has_left);
  CHECK(job.phase() == VmPhase::kSettled);
  CHECK(job.machines() == std::multiset<std::string>{"base", "base", "base"});
  check_replay(job, setting);
}

TEST_CASE("Machines that are alike are not replaced while the job seeks its type") {
  const VmRaceSetting setting = three_workers();
  RaceJob job(kAlike, setting, 3);
  run_with_slow_machine(job, 1.08);
  INFO(job.story());
  CHECK(job.steps(VmPhase::kAudition).size() == 2);
  CHECK(job.steps(VmPhase::kReplacing).empty());
  check_replay(job, setting);
}

// Iterations of so many workers on one type, without whatever an audition has measured.
double seconds_of(const KnownModel& known, const std::string& type, double workers) {
  for (const perfmodel::TimeRow& row : known.record.times)
    if (row.machine == type && row.workers == workers) return row.seconds;
  FAIL("no row of " << type);
  return 0.0;
}

TEST_CASE("What a slow machine has measured says nothing of its type") {
  for (const auto sharing : {perfmodel::Sharing::kDynamic, perfmodel::Sharing::kEven}) {
    VmRaceSetting setting = three_workers();
    setting.sharing = sharing;
    setting.policy = Policy::kMinimumTime;  // stays with three
    setting.profile_budget = 1e-9;          // and without auditions
    RaceJob usual(kAlike, setting, 3), slow(kAlike, setting, 3);
    for (RaceJob* job : {&usual, &slow}) {
      if (sharing == perfmodel::Sharing::kEven) job->share_alike();
      job->log_every(120);
    }
    slow.slow_down(1, 1.6);
    for (int i = 0; i < 3; ++i) usual.train(), slow.train();
    REQUIRE(slow.steps(VmPhase::kReplacing).size() == 1);
    INFO(slow.story());
    const RaceView view(setting, slow.numbers());
    const auto machines = slow_machines(view);
    REQUIRE(!machines.empty());
    CHECK(machines[0].worker == 1);
    CHECK(machines[0].slowdown == Approx(1.6).epsilon(0.1));
    const double truth = seconds_of(measured_machines(usual.numbers()), "base", 3);
    const double raw = seconds_of(measured_machines(slow.numbers()), "base", 3);
    const double corrected =
        seconds_of(measured_machines(slow.numbers(), machines, sharing), "base", 3);
    CHECK(raw > 1.05 * truth);
    CHECK(std::abs(corrected - truth) < 0.5 * (raw - truth));
  }
}

TEST_CASE("Nor does one that left since the job found a better type") {
  const std::vector<TrueType> types = {
      {.name = "base", .cores = 2.0, .speed = 2.0, .price = 1.0},
      {.name = "better", .cores = 4.0, .speed = 4.0, .price = 1.0}};
  VmRaceSetting setting = setting_of(types, 500.0);
  setting.max_vms = 3;
  RaceJob job(types, setting, 3);
  run_with_slow_machine(job, 1.6);
  INFO(job.story());
  CHECK(job.steps(VmPhase::kReplacing).empty());
  CHECK(!job.machines().contains("base"));
  const auto machines = slow_machines(RaceView(setting, job.numbers()));
  REQUIRE(machines.size() == 1);
  CHECK(machines[0].worker == 1);
  CHECK(machines[0].slowdown == Approx(1.6).epsilon(0.1));
}

// Two begin, one of them slow, and for as long all take 0.8 of the time. So two look cheaper than
// one, when one is tried, and are not.
TEST_CASE("A move to machines that were measured with a slow one among them is a trial") {
  const std::vector<TrueType> types = {kAlike[0]};
  const VmRaceSetting setting = setting_of(types, 500.0);
  RaceJob job(types, setting, 2);
  job.change_pace(0.8);
  job.slow_down(1, 1.6);
  while (job.steps(VmPhase::kBegun).size() < 2) job.train();
  job.change_pace(1.0);
  job.run();
  INFO(job.story());
  const auto begun = job.steps(VmPhase::kBegun);
  REQUIRE(begun.size() == 3);
  CHECK(begun[1].workers == 1);
  CHECK(begun[2].workers == 2);
  CHECK(job.phase() == VmPhase::kSettled);
  CHECK(job.machines() == std::multiset<std::string>{"base"});
  // What was calculated counts only as long as nothing was measured.
  const auto slow = slow_machines(RaceView(setting, job.numbers()));
  REQUIRE(slow.size() == 1);
  CHECK(seconds_of(measured_machines(job.numbers(), slow, setting.sharing), "base", 2) ==
        Approx(0.01 + 0.128 / 2.0 + 0.005).epsilon(0.03));
  check_replay(job, setting);
}

}  // namespace
}  // namespace scavenger::elastic
