#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "elastic/history/run_summary.h"
#include "elastic/history/search_stays.h"
#include "elastic/report/savings.h"
#include "elastic/search/search_replay.h"
#include "elastic/search/stored_models.h"
#include "perfmodel/search/paired_stays.h"
#include "test/unit/elastic/events/sample_events.h"
#include "test/unit/elastic/search/virtual_job.h"

namespace scavenger::elastic {
namespace {

using fact::SearchPhase;

VirtualJob auto_job(Policy policy, const Truth& truth, std::uint64_t seed) {
  return VirtualJob(searching_config(SearchMode::kAuto, policy), truth, seed);
}

// Four workers and more are much faster.
Truth scaling_truth() {
  Truth truth;
  truth.seconds_per_worker = 5e-4;
  truth.noise_scale = 2000.0;
  return truth;
}

std::size_t looks_of(const VirtualJob& job) {
  return static_cast<std::size_t>(std::ranges::count_if(
      job.numbers().search_steps.latest,
      [](const auto& timed) { return timed.fact.phase == SearchPhase::kProfiling; }));
}

double time_of(const VirtualJob& job) {
  const fact::Membership& now = job.numbers().phases.back().membership;
  return job.truth.job_seconds(now.workers, now.batch_size);
}

perfmodel::Expense charged_in(const VirtualJob& job) {
  return perfmodel::charged(search_stays(job.numbers(), 0.1, {}, false).stays);
}

}  // namespace

TEST_CASE("The search begins at once, and says what it will do") {
  VirtualJob job = auto_job(Policy::kMinimumTime, scaling_truth(), 1);
  job.train(0.5);
  CHECK(job.numbers().search_steps.latest.front().fact.phase == SearchPhase::kColdStart);
  CHECK(job.last_step().reason.find("5 %") != std::string::npos);
}

TEST_CASE("It finds what is several times faster, within its budget at every moment") {
  VirtualJob job = auto_job(Policy::kMinimumTime, scaling_truth(), 2);
  const double before = time_of(job);
  for (int i = 0; i < 600; ++i) {
    job.train(0.5);
    // One report, and the way back, may be longer than was to be expected.
    CHECK(charged_in(job).seconds <= 0.05 * job.numbers().seconds + 0.6);
  }
  CHECK(time_of(job) < before / 3.0);
  CHECK(looks_of(job) > 1);
}

TEST_CASE("A stay has the seconds of all of its iterations, the first one with them") {
  VirtualJob job = auto_job(Policy::kKnee, scaling_truth(), 3);
  std::size_t moves = 0;
  for (int i = 0; i < 600; ++i) {
    job.train(0.5);
    const SearchStays known = search_stays(job.numbers(), 0.1, {}, false);
    moves = known.stays.size() - 1;
    for (const perfmodel::Stay& stay : known.stays)
      if (stay.iterations > 0) {
        const auto& at = stay.configuration;
        const double pace = job.truth.iteration_seconds(at.workers, at.global_batch);
        CHECK(perfmodel::mean_pace(stay) == Approx(pace).epsilon(stay.whole ? 0.1 : 0.6));
      }
  }
  CHECK(moves > 3);
}

TEST_CASE("Each part of the training loss has the batch of its membership") {
  VirtualJob job = auto_job(Policy::kMinimumTime, scaling_truth(), 2);
  job.train(300.0);
  const RunNumbers& numbers = job.numbers();
  std::uint32_t changes = 0;
  for (std::size_t i = 1; i < numbers.phases.size(); ++i)
    changes +=
        numbers.phases[i].membership.batch_size != numbers.phases[i - 1].membership.batch_size;
  REQUIRE(changes > 0);
  double samples = 0.0;
  std::map<double, double> of_batch, trained;
  for (const perfmodel::LossPoint& one : training_losses(numbers)) {
    of_batch[one.global_batch] += one.samples;
    samples += one.samples;
  }
  for (const PhaseNumbers& phase : numbers.phases)
    trained[phase.membership.batch_size] += static_cast<double>(phase.samples);
  CHECK(samples > 0.9 * static_cast<double>(numbers.position));
  for (const auto& [batch, sum] : of_batch) CHECK(sum <= trained[batch]);
}

TEST_CASE("Where one worker is the cheapest, the job stays with it and has lost little") {
  Truth truth;
  truth.seconds_per_worker = 3e-2;
  truth.noise_scale = 20.0;  // larger batches take many more epochs
  VirtualJob job = auto_job(Policy::kMinimumCost, truth, 3);
  job.train(600.0);
  const fact::Membership& now = job.numbers().phases.back().membership;
  CHECK(now.workers == 1);
  CHECK(charged_in(job).dollars <= 0.05 * job.numbers().cost + 0.1 / 3600.0 * 8.0);
}

TEST_CASE("What has been found is written with what looking has cost, and is no saving elsewhere") {
  VirtualJob job = auto_job(Policy::kMinimumTime, scaling_truth(), 4);
  job.train(200.0);
  REQUIRE(job.numbers().prediction);
  const fact::Prediction& prediction = job.numbers().prediction->fact;
  CHECK(prediction.relative);
  CHECK(prediction.candidates.size() == 16);
  CHECK(prediction.reason.find("looking has cost") != std::string::npos);
  const auto chosen = std::ranges::find_if(prediction.candidates, [&](const auto& one) {
    return one.workers == prediction.workers && one.batch_size == prediction.batch_size;
  });
  REQUIRE(chosen != prediction.candidates.end());
  CHECK(chosen->measured);
  CHECK(chosen->epochs == 1.0);
  const auto savings = savings_against_naive(job.numbers());
  REQUIRE(savings);
  CHECK(savings->used.workers == job.numbers().phases.back().membership.workers);
  const auto first = std::ranges::find_if(savings->naive, [](const auto& one) {
    return one.predicted.workers == 1 && one.predicted.batch_size == 64;
  });
  REQUIRE(first != savings->naive.end());
  CHECK(first->seconds_saved.value > 0.5);
  CHECK(first->seconds_saved.low < first->seconds_saved.value);
}

TEST_CASE("On a machine that others slow down now and then, the search comes to rest") {
  VirtualJob job = auto_job(Policy::kMinimumTime, scaling_truth(), 5);
  RandomStream stream(5, "neighbours");
  for (int i = 0; i < 300; ++i) {
    job.truth.slower = stream.uniform() < 0.4 ? 1.0 + 2.0 * stream.uniform() : 1.0;
    job.train(3.0);
  }
  const auto is_again = [](const auto& timed) { return timed.fact.phase == SearchPhase::kAgain; };
  CHECK(std::ranges::none_of(job.numbers().search_steps.latest, is_again));
  CHECK(looks_of(job) <= 40);
  CHECK(job.numbers().phases.back().membership.workers >= 4);
}

TEST_CASE("A replay of an automatic search makes the same decisions") {
  const Policy policy = GENERATE(Policy::kMinimumTime, Policy::kKnee);
  VirtualJob job = auto_job(policy, scaling_truth(), 6);
  job.train(120.0);
  job.truth.slower = 2.0;
  job.train(120.0);
  REQUIRE(looks_of(job) > 0);
  AdvisorReplay replay = search_replay(job.setting_of());
  for (const LoggedEvent& logged : job.events()) REQUIRE(replay.add(logged) == std::nullopt);
  CHECK(replay.decisions() >= job.numbers().search_steps.total);
}

TEST_CASE("Of each earlier job of this model, the noise that was measured longest counts") {
  const perfmodel::ModelSignature signature{"a", 1000, "digits", 60000, "sgd"};
  perfmodel::ModelRecord record;
  record.signature = signature;
  record.signature.optimizer = "another rate";
  const auto row = [](const char* job, double scale, double iterations) {
    perfmodel::NoiseRow one;
    one.job = job;
    one.noise_scale = scale;
    one.iterations = iterations;
    return one;
  };
  record.noise = {row("first", 100.0, 50.0), row("first", 900.0, 5000.0),
                  row("second", 700.0, 9.0)};
  perfmodel::ModelRecord other = record;
  other.signature.architecture = "b";
  const std::vector<perfmodel::ModelRecord> stored{other, record};
  CHECK(stored_noise_scales(stored, signature) == std::vector<double>{900.0, 700.0});
  CHECK(stored_noise_scales({}, signature).empty());
}

TEST_CASE("Memberships that the search did not ask for are no looks") {
  VirtualJob job = auto_job(Policy::kMinimumTime, scaling_truth(), 7);
  job.train(100.0);
  const auto before = search_stays(job.numbers(), 0.1, {}, false);
  const fact::Membership& now = job.numbers().phases.back().membership;
  fact::Membership fewer = now;
  fewer.workers = 3;
  const std::uint32_t third = now.batch_size / 3;
  fewer.shares = {now.batch_size - 2 * third, third, third};
  fewer.indices = {0, 1, 2};
  ++fewer.membership_epoch;
  fewer.first_iteration = job.numbers().iterations;
  fewer.position = job.numbers().position;
  job.log(fewer);
  const auto after = search_stays(job.numbers(), 0.1, {}, false);
  CHECK(after.stays.size() == before.stays.size());
  CHECK(after.elapsed_dollars >= before.elapsed_dollars);
}

TEST_CASE("A look is not charged with the evaluations of its time") {
  const auto evaluation = [](double seconds) {
    fact::Evaluation event = sample_evaluation(100, 1.0, 0.5, 0.8);
    event.seconds = seconds;
    return event;
  };
  RunSummary job;
  job.apply({0.0, sample_start()});
  job.apply({3.0, sample_membership(1, {64})});
  job.apply({3.0, fact::SearchStep{0, SearchPhase::kColdStart, 1, 64, ""}});
  job.apply({99.0, sample_iterations(1, 0, 100, 1)});
  job.apply({100.0, fact::SearchStep{100, SearchPhase::kProfiling, 2, 64, ""}});
  job.apply({112.0, evaluation(11.5)});  // two new machines wait for it
  job.apply({112.5, sample_membership(2, {32, 32}, 100, 6400)});
  job.apply({113.0, sample_iterations(2, 100, 4, 2)});
  job.apply({133.0, evaluation(20.0)});
  const SearchStays stays = search_stays(job.numbers(), 3600.0, {}, true);
  REQUIRE(stays.stays.size() == 2);
  CHECK(stays.stays.back().start_dollars == Approx(1.0));
  CHECK(stays.start_seconds == Approx(1.0));
  CHECK(stays.stays.back().seconds + stays.stays.back().change_seconds == Approx(0.5));
}

TEST_CASE("Until more is known, machines are expected to start as the job's first ones did") {
  RunSummary job;
  job.apply({0.0, sample_start()});
  job.apply({3.5, sample_membership(1, {64})});
  CHECK(search_stays(job.numbers(), 0.1, {}, true).start_seconds == Approx(3.5));
  CHECK(search_stays(job.numbers(), 0.1, {}, false).start_seconds == Approx(1.0));
  job.apply({100.0, sample_start()});  // resumed
  job.apply({105.5, sample_membership(2, {64})});
  CHECK(search_stays(job.numbers(), 0.1, {}, true).start_seconds == Approx(4.5));
}

}  // namespace scavenger::elastic
