// What a job does after it has settled on its machines, on a virtual clock.
#include "elastic/vms/race/race_watch.h"

#include "test/unit/elastic/vms/race_job.h"

namespace scavenger::elastic {
namespace {

const std::vector<TrueType> kOne = {{.name = "base", .cores = 2.0, .speed = 2.0, .price = 1.0}};

// With three workers, which are best if both time and cost count.
VmRaceSetting three_of_one(double max_epochs) {
  VmRaceSetting setting = setting_of(kOne, max_epochs);
  setting.policy = Policy::kKnee;
  setting.max_vms = 3;
  return setting;
}

void train(RaceJob& job, int series) {
  for (int i = 0; i < series; ++i) job.train();
}

// Until a step of this phase was decided; false if none was within so many series.
bool reaches(RaceJob& job, VmPhase phase, int series = 400) {
  for (int i = 0; i < series && job.steps(phase).empty(); ++i) job.train();
  return !job.steps(phase).empty();
}

TEST_CASE("A machine that is much slower than its like is replaced") {
  VmRaceSetting setting = three_of_one(200.0);
  for (const bool alike : {false, true}) {
    if (alike) setting.sharing = perfmodel::Sharing::kEven;
    RaceJob job(kOne, setting, 3);
    if (alike) job.share_alike();
    job.run();
    REQUIRE(job.phase() == VmPhase::kSettled);
    job.slow_down(1, 1.35);
    INFO(job.story());
    REQUIRE(reaches(job, VmPhase::kReplacing));
    train(job, 2);
    INFO(job.story());
    CHECK(job.steps(VmPhase::kReplacing)[0].worker == 1);
    CHECK(job.steps(VmPhase::kReplacing)[0].workers == 4);
    CHECK(job.last().phase == VmPhase::kSettled);
    CHECK(job.last().leaving == std::vector<std::uint32_t>{1});
    CHECK(job.machines().size() == 3);
    train(job, 300);
    CHECK(job.steps(VmPhase::kReplacing).size() == 1);
    check_replay(job, setting);
  }
}

TEST_CASE("A slow machine stays if the job is too short to repay another one's start") {
  const VmRaceSetting setting = three_of_one(0.45);  // 176 iterations
  RaceJob job(kOne, setting, 3);
  job.run();
  job.slow_down(1, 1.35);
  CHECK(!reaches(job, VmPhase::kReplacing, 60));
}

TEST_CASE("A machine that is as slow as usual stays") {
  const VmRaceSetting setting = three_of_one(200.0);
  RaceJob job(kOne, setting, 3);
  job.run();
  job.slow_down(1, 1.08);
  CHECK(!reaches(job, VmPhase::kReplacing, 200));
}

// On spot machines, at 30 % of the price.
VmRaceSetting spot_setting(double max_epochs, double max_seconds) {
  VmRaceSetting setting = three_of_one(max_epochs);
  setting.spot = true;
  for (VmType& type : setting.types) type.spot_price = 0.3 * type.price;
  setting.stop.max_seconds = max_seconds;
  return setting;
}

bool all_on_demand(const RaceJob& job) {
  const RunNumbers& numbers = job.numbers();
  std::map<std::uint32_t, bool> spot;
  for (const auto& timed : numbers.machines.latest)
    if (timed.fact.change == fact::MachineChange::kReady) spot[timed.fact.worker] = timed.fact.spot;
  return std::ranges::none_of(numbers.phases.back().membership.indices,
                              [&](std::uint32_t worker) { return spot[worker]; });
}

TEST_CASE("Spot machines that are lost too often are left before the limit of time passes") {
  // 19,500 iterations of about 58 ms with three workers: 1,120 s, if nobody is lost.
  const VmRaceSetting setting = spot_setting(50.0, 1250.0);
  RaceJob job(kOne, setting, 3);
  job.run();
  REQUIRE(job.phase() == VmPhase::kSettled);
  for (std::uint32_t lost = 0; lost < 60 && job.steps(VmPhase::kMoving).empty(); ++lost) {
    job.preempt(lost % 3);
    train(job, 40);
  }
  train(job, 3);
  INFO(job.story());
  const auto moves = job.steps(VmPhase::kMoving);
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].spot == false);
  CHECK(moves[0].reason.find("on demand") != std::string::npos);
  REQUIRE(job.last().phase == VmPhase::kSettled);
  CHECK(job.last().spot == false);
  CHECK(job.machines().size() == 3);
  CHECK(all_on_demand(job));
  // Who is lost now is replaced on demand, too.
  job.preempt(job.numbers().phases.back().membership.indices[0]);
  train(job, 60);
  CHECK(all_on_demand(job));
  CHECK(job.steps(VmPhase::kMoving).size() == 1);
  check_replay(job, setting);
}

// With a target, and no limit of iterations or epochs: 25 epochs are 9,800 iterations.
RaceJob job_with_target(const VmRaceSetting& setting) {
  RaceJob job(kOne, setting, 3, fact::Target{Metric::kAccuracy, Split::kTest, 0.9});
  job.run();
  REQUIRE(job.phase() == VmPhase::kSettled);
  job.log_every(40);
  return job;
}

TEST_CASE("A job with a target and a limit of time leaves spot machines before that passes") {
  // The job takes about 560 s if nobody is lost. A loss costs a third of the speed for a while.
  for (const bool has_time : {false, true}) {
    const VmRaceSetting setting = spot_setting(0.0, has_time ? 1e5 : 640.0);
    RaceJob job = job_with_target(setting);
    for (std::uint32_t lost = 0; lost < 60 && job.steps(VmPhase::kMoving).empty(); ++lost) {
      job.preempt(lost % 3);
      train(job, 5);
      job.evaluate();
    }
    train(job, 3);
    INFO(job.story());
    CHECK(job.steps(VmPhase::kMoving).size() == (has_time ? 0U : 1U));
    if (!has_time) {
      CHECK(all_on_demand(job));
      CHECK(job.numbers().epochs() < 25.0);
    }
    check_replay(job, setting);
  }
}

TEST_CASE("A lone worker that never trains for long moves at the loss of its machine") {
  VmRaceSetting setting = spot_setting(5.0, 400.0);
  setting.max_vms = 1;
  RaceJob job(kOne, setting, 1);
  job.run();
  REQUIRE(job.phase() == VmPhase::kSettled);
  for (int lost = 0; lost < 200 && job.steps(VmPhase::kMoving).empty(); ++lost) {
    job.preempt(job.numbers().phases.back().membership.indices[0]);
    train(job, 1);
  }
  train(job, 3);
  INFO(job.story());
  CHECK(job.steps(VmPhase::kMoving).size() == 1);
  CHECK(all_on_demand(job));
  check_replay(job, setting);
}

TEST_CASE("With time enough, or without a limit, a job stays on spot machines") {
  for (const double max_seconds : {0.0, 1e5}) {
    const VmRaceSetting setting = spot_setting(50.0, max_seconds);
    RaceJob job(kOne, setting, 3);
    job.run();
    for (std::uint32_t lost = 0; lost < 20; ++lost) {
      job.preempt(lost % 3);
      train(job, 20);
    }
    INFO(job.story());
    CHECK(job.steps(VmPhase::kMoving).empty());
    CHECK(!job.last().spot);
    check_replay(job, setting);
  }
}

TEST_CASE("A pace that contradicts the plan leads to another plan") {
  const VmRaceSetting setting = setting_of(kTypes, 2000.0);
  RaceJob job(kTypes, setting, 2);
  job.run();
  REQUIRE(job.phase() == VmPhase::kSettled);
  train(job, 100);
  const std::size_t before = job.steps(VmPhase::kSettled).size();
  train(job, 200);
  CHECK(job.steps(VmPhase::kSettled).size() == before);  // nothing has happened
  job.change_pace(2.0);
  train(job, 600);
  INFO(job.story());
  CHECK(job.steps(VmPhase::kSettled).size() > before);
  // The new plan knows the new pace.
  const std::size_t after = job.steps(VmPhase::kSettled).size();
  train(job, 600);
  CHECK(job.steps(VmPhase::kSettled).size() <= after + 1);
  check_replay(job, setting);
}

TEST_CASE("A plan that is made again counts with the prices of the latest machines") {
  const VmRaceSetting setting = setting_of(kTypes, 2000.0);
  for (const bool is_dearer : {false, true}) {
    RaceJob job(kTypes, setting, 2);
    job.run();
    REQUIRE(job.last().machine_type == "good");
    train(job, 100);
    // One is lost, and another one comes at today's price.
    if (is_dearer) job.change_price("good", 60.0);
    job.preempt(job.numbers().phases.back().membership.indices[0]);
    train(job, 200);
    job.change_pace(2.0);
    train(job, 600);
    INFO(job.story());
    CHECK(job.last().machine_type == (is_dearer ? "base" : "good"));
    check_replay(job, setting);
  }
}

TEST_CASE("K and B come with the type if the job may have other batch sizes") {
  VmRaceSetting setting = setting_of(kTypes, 200.0);
  setting.batch_sizes = {128, 256, 512, 1024};
  setting.policy = Policy::kMinimumTime;
  // With so much noise larger batches take as many epochs, and synchronise less often.
  RaceJob noisy(kTypes, setting, 2);
  noisy.set_noise(1e5);
  noisy.run();
  train(noisy, 300);
  INFO(noisy.story());
  CHECK(noisy.last().batch_size > 256);
  check_replay(noisy, setting);
  // With little noise they only take more epochs.
  setting.policy = Policy::kMinimumCost;
  RaceJob calm(kTypes, setting, 2);
  calm.set_noise(20.0);
  calm.run();
  train(calm, 300);
  INFO(calm.story());
  CHECK(calm.last().batch_size <= 256);
  check_replay(calm, setting);
}

}  // namespace
}  // namespace scavenger::elastic
