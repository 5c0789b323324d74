#include "perfmodel/search/worthwhile_search.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "perfmodel/search/paired_stays.h"

namespace scavenger::perfmodel {
namespace {

std::vector<Configuration> grid() {
  std::vector<Configuration> all;
  for (const double k : {1.0, 2.0, 4.0, 8.0})
    for (const double b : {64.0, 256.0}) all.push_back({k, b});
  return all;
}

std::vector<PricedConfiguration> priced_grid() {
  std::vector<PricedConfiguration> all;
  for (const Configuration& c : grid()) all.push_back({c, c.workers});
  return all;
}

Stay stay_at(Configuration at, StayKind kind, double pace, double iterations, double seconds) {
  const MeasuredPace measured{pace, 0.005, static_cast<std::uint64_t>(iterations)};
  return {.configuration = at,
          .kind = kind,
          .dollars_per_second = at.workers,
          .seconds = seconds,
          .iterations = static_cast<std::uint64_t>(iterations),
          .change_seconds = 0.1,
          .start_dollars = 0.0,
          .whole = measured,
          .last = measured};
}

// So few iterations that none was measured.
Stay visit_begun(Configuration at, double pace, int iterations) {
  Stay stay = stay_at(at, StayKind::kVisit, pace, iterations, pace * iterations);
  stay.whole.reset();
  stay.last.reset();
  return stay;
}

// One worker for so many seconds, of which an iteration takes a tenth.
struct Begun {
  std::vector<PricedConfiguration> candidates = priced_grid();
  std::vector<Stay> stays;
  SearchSituation situation;
  explicit Begun(double seconds) {
    stays.push_back(stay_at({1.0, 64.0}, StayKind::kBase, 0.1, 10.0 * seconds, seconds));
    situation.candidates = candidates;
    situation.policy = Policy::kMinimumTime;
    situation.stays = stays;
    situation.elapsed_seconds = situation.elapsed_dollars = seconds;
    situation.change_seconds = 0.1;
    situation.noise = MeasuredNoise{500.0, 450.0, 550.0};
  }
};

}  // namespace

TEST_CASE("Before anything is measured, more workers may be faster or slower") {
  const RelativeTimes times(grid(), {});
  const LogRatio eight = times.ratio(6, 0);  // K = 8 beside K = 1, B = 64
  CHECK(eight.deviation() > 0.5);
  CHECK(times.ratio(3, 3).deviation() == Approx(0.0).margin(1e-9));
  CHECK(times.ratio(0, 6).mean() == Approx(-eight.mean()));
}

TEST_CASE("A measured ratio is believed, and tells of its neighbours") {
  const std::vector<PairedTime> pairs{{{2.0, 64.0}, {1.0, 64.0}, std::log(0.9), 1e-4}};
  const RelativeTimes before(grid(), {}), after(grid(), pairs);
  CHECK(after.ratio(2, 0).mean() == Approx(std::log(0.9)).margin(0.02));
  CHECK(after.ratio(2, 0).deviation() < 0.02);
  // Two workers that gain so little: four gain less than where two gained all.
  const std::vector<PairedTime> better{{{2.0, 64.0}, {1.0, 64.0}, std::log(0.52), 1e-4}};
  CHECK(after.ratio(4, 0).mean() > RelativeTimes(grid(), better).ratio(4, 0).mean() + 0.3);
  CHECK(after.ratio(4, 0).deviation() < before.ratio(4, 0).deviation());
}

TEST_CASE("More workers may need another node, and a step leaves uncertain what lies beyond it") {
  std::vector<Configuration> workers;
  for (const double k : {1.0, 2.0, 4.0, 8.0, 16.0}) workers.push_back({k, 256.0});
  std::vector<PairedTime> pairs{{workers[1], workers[0], std::log(0.6), 1e-4},
                                {workers[2], workers[1], std::log(0.7), 1e-4},
                                {workers[3], workers[2], std::log(0.8), 1e-4}};
  CHECK(RelativeTimes(workers, pairs).ratio(4, 3).deviation() > 0.4);
  pairs.back().log_ratio = std::log(3.0);
  const RelativeTimes stepped(workers, pairs);
  CHECK(stepped.ratio(4, 3).deviation() > 0.2);
  // What was measured is believed all the same.
  CHECK(stepped.ratio(3, 2).mean() == Approx(std::log(3.0)).margin(0.05));
}

TEST_CASE("A last stretch of one iteration that took long is not what a configuration takes") {
  Stay stay = stay_at({4.0, 64.0}, StayKind::kVisit, 2.0, 3, 16.0);
  stay.last = MeasuredPace{14.0, 0.0, 1};
  CHECK(pace_at_end(stay)->seconds == 2.0);
  stay.last = MeasuredPace{3.0, 0.1, 3};
  CHECK(pace_at_end(stay)->seconds == 3.0);
}

TEST_CASE("What a measurement may gain falls as the ratio is known better and worse") {
  const std::vector<PairedTime> pairs{{{2.0, 64.0}, {1.0, 64.0}, std::log(1.2), 1e-4}};
  const RelativeTimes before(grid(), {}), after(grid(), pairs);
  CHECK(after.ratio(2, 0).expected_gain(1.0, 1.0, 1e-3) < 1e-4);
  CHECK(before.ratio(2, 0).expected_gain(1.0, 1.0, 1e-3) > 0.1);
  CHECK(before.ratio(2, 0).expected_gain(1.0, 1.0, 1e3) <
        before.ratio(2, 0).expected_gain(1.0, 1.0, 1e-3));
}

TEST_CASE("Larger batches take more epochs, and more where the noise is small or not known") {
  const MeasuredNoise large{5000.0, 4500.0, 5500.0}, small{50.0, 45.0, 55.0};
  const MeasuredProgress unmeasured({}, 256.0);
  const auto ratio = [&](double batch, const MeasuredNoise& noise) {
    return expected_epochs_ratio({batch, 64.0}, {.so_far = noise, .usual = 256.0}, unmeasured);
  };
  CHECK(ratio(64.0, large) == 1.0);
  CHECK(ratio(256.0, large) < 1.3);
  CHECK(ratio(256.0, small) > 2.0);
  const MeasuredNoise vague{5000.0, 50.0, 500000.0};
  CHECK(ratio(256.0, vague) > ratio(256.0, large));
}

TEST_CASE("What earlier jobs measured of the noise counts for more than the first part of a job") {
  const MeasuredProgress unmeasured({}, 256.0);
  const auto ratio = [&](const KnownNoise& noise) {
    return expected_epochs_ratio({512.0, 64.0}, noise, unmeasured);
  };
  const MeasuredNoise so_far{100.0, 90.0, 110.0};
  const std::vector<double> scales{900.0, 1000.0, 1100.0};
  const auto earlier = noise_of_earlier_jobs(scales);
  REQUIRE(earlier);
  CHECK(earlier->scale == Approx(996.7).epsilon(1e-3));
  CHECK(earlier->low < 600.0);  // one more job may differ more than three did
  const double alone = ratio({.so_far = so_far, .usual = 256.0});
  const double both = ratio({.so_far = so_far, .of_earlier_jobs = earlier, .usual = 256.0});
  const double only_earlier = ratio({.of_earlier_jobs = earlier, .usual = 256.0});
  CHECK(alone > 2.5);
  CHECK(only_earlier < 2.0);
  CHECK(both < 0.5 * (alone + only_earlier));
  CHECK(both > only_earlier);
  CHECK_FALSE(noise_of_earlier_jobs({}));
}

TEST_CASE("A look whose seconds are not known leaves all that is known of the others") {
  Begun job(100.0);
  Stay visit = visit_begun({2.0, 64.0}, 0.5, 1);
  visit.seconds = 0.0;
  job.stays.push_back(visit);
  job.stays.push_back(stay_at({1.0, 64.0}, StayKind::kBase, 0.1, 1000, 100.0));
  job.situation.stays = job.stays;
  job.situation.elapsed_seconds = job.situation.elapsed_dollars = 200.0;
  for (const RelativeObjective& one : relative_objectives(job.situation))
    CHECK(std::isfinite(one.expected));
  CHECK(advise(job.situation).move == SearchMove::kLook);
}

TEST_CASE("A visit is charged with what it took longer than the same progress at the base") {
  std::vector<Stay> stays{stay_at({1.0, 64.0}, StayKind::kBase, 0.1, 100, 10.0),
                          stay_at({2.0, 64.0}, StayKind::kVisit, 0.15, 10, 1.5)};
  CHECK(charged(stays).seconds == Approx(0.1 + 0.5));
  CHECK(charged(stays).dollars == Approx(0.2 + 3.0 - 1.0));
  stays.back().kind = StayKind::kAdopted;
  CHECK(charged(stays).seconds == Approx(0.1));
  stays.back().kind = StayKind::kVisit;
  stays.push_back(stay_at({1.0, 64.0}, StayKind::kBase, 0.1, 100, 10.0));
  CHECK(charged(stays).seconds == Approx(0.1 + 0.5 + 0.1));
}

TEST_CASE("An iteration of a smaller batch is worth its part of one at the base") {
  const Beside beside{.at = {1.0, 64.0},
                      .dollars_per_second = 1.0,
                      .base = {1.0, 256.0},
                      .base_pace = 0.4,
                      .base_dollars_per_second = 1.0};
  CHECK(excess(beside, 1.0, 10.0).seconds == Approx(0.0).margin(1e-12));
  CHECK(excess(beside, 2.0, 10.0).seconds == Approx(1.0));
}

TEST_CASE("A search looks around only when its budget bears it") {
  CHECK(advise(Begun(1.0).situation).move == SearchMove::kNone);
  Begun later(60.0);
  const SearchAdvice advice = advise(later.situation);
  CHECK(advice.move == SearchMove::kLook);
  CHECK(advice.expected_gain > advice.expected_cost);
  later.situation.budget = 0.0;
  CHECK(advise(later.situation).move == SearchMove::kNone);
}

TEST_CASE("Nobody looks around shortly before the end") {
  Begun job(600.0);
  job.situation.left_seconds = 0.2;
  CHECK(advise(job.situation).move == SearchMove::kNone);
}

TEST_CASE("The job stays at what was better, and goes back from what was not") {
  Begun job(60.0);
  job.stays.push_back(stay_at({4.0, 64.0}, StayKind::kVisit, 0.04, 20, 0.8));
  job.situation.stays = job.stays;
  job.situation.elapsed_seconds += 0.9;
  SearchAdvice advice = advise(job.situation);
  CHECK(advice.move == SearchMove::kAdopt);
  CHECK(advice.objective.expected == Approx(0.4).margin(0.05));
  CHECK(advice.objective.low < advice.objective.expected);
  CHECK(advice.objective.high < 1.0);
  job.stays.back() = stay_at({4.0, 64.0}, StayKind::kVisit, 0.11, 20, 2.2);
  job.situation.stays = job.stays;
  advice = advise(job.situation);
  CHECK(advice.move == SearchMove::kReturn);
  CHECK(job.candidates[advice.candidate].configuration == Configuration{1.0, 64.0});
  // Four machines that are little faster cost more.
  job.stays.back() = stay_at({4.0, 64.0}, StayKind::kVisit, 0.06, 20, 1.2);
  job.situation.stays = job.stays;
  job.situation.elapsed_dollars = 600.0;
  job.situation.policy = Policy::kMinimumCost;
  CHECK(advise(job.situation).move == SearchMove::kReturn);
}

TEST_CASE("A look ends as soon as it has cost what it may") {
  Begun job(60.0);
  job.stays.push_back(stay_at({8.0, 256.0}, StayKind::kVisit, 5.0, 1, 5.0));
  job.stays.back().whole.reset();  // the first iterations are not measured
  job.stays.back().last.reset();
  job.situation.stays = job.stays;
  job.situation.elapsed_seconds += 5.1;
  const SearchAdvice advice = advise(job.situation);
  CHECK(advice.move == SearchMove::kReturn);
  CHECK(advice.is_broken_off);
  CHECK(advice.objective.expected > 1.0);
}

TEST_CASE("A look is broken off before its next iteration would cost more than it may") {
  // 3.1 s are allowed: the move there, two iterations, and the way back would fit.
  Begun job(60.0);
  job.stays.push_back(visit_begun({8.0, 256.0}, 0.5, 2));
  job.situation.stays = job.stays;
  job.situation.elapsed_seconds += 1.1;
  CHECK(advise(job.situation).move == SearchMove::kNone);
  job.stays.back() = visit_begun({8.0, 256.0}, 1.2, 2);
  job.situation.stays = job.stays;
  job.situation.elapsed_seconds += 1.4;
  CHECK(advise(job.situation).move == SearchMove::kReturn);
}

TEST_CASE("A look that costs more than it can still gain is broken off, whatever is allowed") {
  Begun job(60.0);
  job.situation.budget = 1.0;
  job.stays.push_back(visit_begun({8.0, 64.0}, 4.0, 2));  // 40 times as long as at the base
  job.situation.stays = job.stays;
  job.situation.elapsed_seconds += 8.1;
  const SearchAdvice advice = advise(job.situation);
  CHECK(advice.move == SearchMove::kReturn);
  CHECK(advice.is_broken_off);
  job.stays.back() = visit_begun({8.0, 64.0}, 0.2, 2);
  job.situation.stays = job.stays;
  CHECK(advise(job.situation).move == SearchMove::kNone);
}

// A CNN on machines of 0.07 cores: at four workers iterations took 1.05, 0.36 and 0.20 s.
TEST_CASE("A look goes on though the first iteration of its new workers was slow") {
  std::vector<PricedConfiguration> candidates;
  for (const double k : {1.0, 2.0, 4.0})
    for (const double b : {64.0, 128.0, 256.0}) candidates.push_back({{k, b}, k});
  std::vector<Stay> stays{stay_at({1.0, 64.0}, StayKind::kBase, 0.59, 525, 385.0),
                          stay_at({2.0, 64.0}, StayKind::kAdopted, 0.335, 165, 58.0),
                          visit_begun({4.0, 64.0}, 1.62 / 3.0, 3)};
  SearchSituation situation;
  situation.candidates = candidates;
  situation.stays = stays;
  situation.elapsed_seconds = 465.0;
  situation.elapsed_dollars = 540.0;
  situation.change_seconds = 0.15;
  situation.start_seconds = 3.0;
  situation.noise = MeasuredNoise{60.0, 50.0, 70.0};
  stays.back().after_first = 0.28;
  CHECK(advise(situation).move == SearchMove::kNone);
  stays.back().after_first = 0.54;  // if all three took so long
  CHECK(advise(situation).is_broken_off);
}

TEST_CASE("What was broken off says little, and less the slower it was") {
  const Stay base = stay_at({1.0, 64.0}, StayKind::kBase, 0.1, 100, 10.0);
  const auto seen = [&](double pace, int iterations) {
    const std::vector<Stay> stays{base, visit_begun({2.0, 64.0}, pace, iterations)};
    return paired_times(stays).at(0);
  };
  CHECK(seen(0.2, 1).log_ratio == Approx(std::log(2.0)));
  CHECK(seen(0.2, 1).variance > seen(0.05, 1).variance);
  CHECK(seen(2.0, 1).variance > 4.0 * seen(0.2, 1).variance);
  CHECK(seen(2.0, 4).variance < 0.5 * seen(2.0, 1).variance);
  // Twenty times as long, once: another look is still likely to pay, once the budget bears it.
  const std::vector<PairedTime> slow{seen(2.0, 1)};
  CHECK(RelativeTimes(grid(), slow).ratio(2, 0).expected_gain(1.0, 1.0, 1e-3) > 0.02);
  // What follows is measured beside what was measured.
  const std::vector<Stay> stays{base, visit_begun({2.0, 64.0}, 0.2, 1), base};
  CHECK(paired_times(stays).size() == 1);
}

TEST_CASE("A job stays at what was not measured only if its first iterations were quick enough") {
  Begun job(60.0);
  job.situation.budget = 0.0;
  // Workers halved the time until now, so one slow iteration is not believed.
  job.stays.push_back(stay_at({2.0, 64.0}, StayKind::kAdopted, 0.05, 1000, 50.0));
  job.stays.push_back(stay_at({4.0, 64.0}, StayKind::kAdopted, 0.025, 1000, 25.0));
  job.stays.push_back(visit_begun({8.0, 64.0}, 0.04, 1));  // longer than at the base
  job.situation.stays = job.stays;
  const SearchAdvice slow = advise(job.situation);
  CHECK(slow.objective.expected < 1.0);  // what was expected still is
  CHECK(slow.move == SearchMove::kReturn);
  CHECK(slow.is_broken_off);
  CHECK(slow.candidate == 4);
  job.stays.back() = visit_begun({8.0, 64.0}, 0.02, 1);
  job.situation.stays = job.stays;
  CHECK(advise(job.situation).move == SearchMove::kAdopt);
}

TEST_CASE("After a look that was broken off there is another one once it may be as slow as that") {
  Begun job(60.0);
  job.candidates = {{{1.0, 64.0}, 1.0}, {{2.0, 64.0}, 2.0}};
  job.situation.candidates = job.candidates;
  job.stays.push_back(visit_begun({2.0, 64.0}, 3.0, 1));
  // Six iterations of 3 s are charged with 17.4 s, the moves not counted.
  const auto next_look = [&](double seconds) {
    job.stays.resize(2);
    job.stays.push_back(stay_at({1.0, 64.0}, StayKind::kBase, 0.1, 10.0 * seconds, seconds));
    job.situation.stays = job.stays;
    job.situation.elapsed_seconds = job.situation.elapsed_dollars = 63.2 + seconds;
    return advise(job.situation).move;
  };
  CHECK(next_look(200.0) == SearchMove::kNone);
  CHECK(next_look(500.0) == SearchMove::kLook);
}

TEST_CASE("A look that was surprised by its first iterations goes on") {
  Begun job(60.0);
  job.stays.push_back(stay_at({4.0, 64.0}, StayKind::kAdopted, 0.04, 200, 8.0));
  job.stays.push_back(stay_at({8.0, 64.0}, StayKind::kVisit, 0.3, 4, 1.2));
  job.situation.stays = job.stays;
  job.situation.elapsed_seconds += 100.0;
  CHECK(advise(job.situation).move == SearchMove::kNone);
  job.stays.back() = stay_at({8.0, 64.0}, StayKind::kVisit, 0.3, 12, 3.6);
  job.situation.stays = job.stays;
  CHECK(advise(job.situation).move == SearchMove::kReturn);
}

TEST_CASE("Many looks are spread over the job") {
  Begun job(60.0);
  job.situation.elapsed_seconds = 1000.0;
  REQUIRE(advise(job.situation).move == SearchMove::kLook);
  for (int i = 0; i < 20; ++i) {
    job.stays.push_back(stay_at({2.0, 64.0}, StayKind::kVisit, 0.1, 20, 0.1));
    job.stays.push_back(stay_at({1.0, 64.0}, StayKind::kBase, 0.1, 200, 20.0));
  }
  job.situation.stays = job.stays;
  CHECK(advise(job.situation).move == SearchMove::kNone);
  job.stays.back().seconds = 200.0;
  CHECK(advise(job.situation).move == SearchMove::kLook);
}

TEST_CASE("A neighbour who slows down everything changes no choice") {
  Begun quiet(60.0), busy(60.0);
  quiet.stays.push_back(stay_at({4.0, 64.0}, StayKind::kAdopted, 0.05, 200, 10.0));
  busy.stays.back().last->seconds = 0.3;  // from when the neighbour came
  busy.stays.push_back(stay_at({4.0, 64.0}, StayKind::kAdopted, 0.15, 200, 30.0));
  quiet.situation.stays = quiet.stays;
  busy.situation.stays = busy.stays;
  const auto of_quiet = relative_objectives(quiet.situation);
  const auto of_busy = relative_objectives(busy.situation);
  for (std::size_t i = 0; i < of_quiet.size(); ++i)
    CHECK(of_busy[i].expected == Approx(of_quiet[i].expected).epsilon(0.02));
}

TEST_CASE("What is saved for a look that gains much is not spent on one that gains little") {
  Begun job(300.0);
  job.candidates = {{{1.0, 64.0}, 1.0}, {{1.0, 128.0}, 1.0}, {{4.0, 64.0}, 4.0}};
  job.situation.candidates = job.candidates;
  job.situation.policy = Policy::kKnee;
  job.situation.noise = MeasuredNoise{5.0, 4.5, 5.5};
  job.situation.left_seconds = 1000.0;
  CHECK(advise(job.situation).candidate == 2);
  // Three machines that start for four seconds cost 12 of the 15 dollars of the budget.
  job.situation.start_seconds = 4.0;
  CHECK(advise(job.situation).move == SearchMove::kNone);
  // 36 dollars, which the budget bears before the job is four times as old; 90 are too far away.
  job.situation.start_seconds = 12.0;
  CHECK(advise(job.situation).move == SearchMove::kNone);
  job.situation.start_seconds = 30.0;
  CHECK(advise(job.situation).candidate == 1);
  job.situation.start_seconds = 4.0;
  job.candidates.pop_back();
  job.situation.candidates = job.candidates;
  CHECK(advise(job.situation).candidate == 1);
}

}  // namespace scavenger::perfmodel
