#include "test/unit/campaign/surrogate/surrogate_loop.h"

#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "runtime/base/random.h"
#include "test/unit/campaign/surrogate/adam_trainer.h"
#include "test/unit/campaign/surrogate/invented_space.h"

namespace scavenger::surrogate {
namespace {

LoopSettings quick_settings() {
  LoopSettings settings{.holdout = 10, .first = 10, .retrain_after = 6};
  settings.fit.hidden = {16, 16};
  settings.fit.members = 3;
  settings.fit.iterations = 400;
  settings.fit.learning_rate = 0.02;
  return settings;
}

void train(SurrogateLoop& loop) {
  const Encoding& encoding = loop.begin_training();
  std::vector<Perceptron> members;
  for (std::size_t i = 0; i < loop.settings().fit.members; ++i)
    members.push_back(train_with_adam(encoding.set, loop.settings().fit, i));
  loop.end_training(std::move(members));
}

// Simulates what is proposed, and trains, until the target is reached or nothing is left.
std::vector<Proposal> run(SurrogateLoop& loop, const std::vector<std::vector<double>>& points) {
  std::vector<Proposal> all;
  while (!loop.is_target_reached()) {
    const std::vector<Proposal> proposals = loop.propose(4);
    if (proposals.empty()) break;
    for (const Proposal& proposal : proposals) {
      all.push_back(proposal);
      loop.complete(proposal.point, invented_sample(points[proposal.point]));
    }
    if (loop.is_training_due()) train(loop);
  }
  return all;
}

}  // namespace

TEST_CASE("a loop reaches its target with a part of the space, and again in the same way") {
  const auto points = invented_points();
  LoopSettings settings = quick_settings();
  settings.target.rmse = 0.03;
  SurrogateLoop loop(points, settings), other(points, settings);
  const std::vector<Proposal> first = run(loop, points);
  CHECK(loop.is_target_reached());
  CHECK(loop.error()->most_rmse <= 0.03);
  CHECK(loop.error()->rmse < loop.error()->most_rmse);
  CHECK(first.size() < 60);
  CHECK(run(other, points) == first);
  settings.seed = 2;
  SurrogateLoop third(points, settings);
  CHECK(run(third, points) != first);
}

TEST_CASE("the holdout comes first, and no training sees it") {
  const auto points = invented_points();
  SurrogateLoop loop(points, quick_settings());
  std::set<std::vector<double>> holdout;
  const std::vector<Proposal> first = loop.propose(10);
  for (const Proposal& proposal : first) {
    CHECK(proposal.is_holdout);
    holdout.insert(points[proposal.point]);
    loop.complete(proposal.point, invented_sample(points[proposal.point]));
  }
  CHECK(holdout.size() == 10);
  CHECK_FALSE(loop.is_training_due());
  for (const Proposal& proposal : loop.propose(10)) {
    CHECK_FALSE(proposal.is_holdout);
    CHECK_FALSE(holdout.contains(points[proposal.point]));
    loop.complete(proposal.point, invented_sample(points[proposal.point]));
  }
  REQUIRE(loop.is_training_due());
  const UnitSpace space(points);
  const TrainingSet& set = loop.begin_training().set;
  CHECK_FALSE(loop.is_training_due());  // one at a time
  CHECK(set.rows() == 10);
  for (const std::vector<double>& point : holdout) {
    const std::vector<double> unit = space.to_unit(point);
    for (std::size_t row = 0; row < set.rows(); ++row)
      CHECK_FALSE((set.x[2 * row] == static_cast<float>(unit[0]) &&
                   set.x[2 * row + 1] == static_cast<float>(unit[1])));
  }
}

// One in ten results is not a number, torn, of another point, or was called invalid outside.
TEST_CASE("results that are not valid are never trained on, and each is reported") {
  const auto points = invented_points();
  SurrogateLoop loop(points, quick_settings());
  RandomStream random(5, "faults");
  std::set<std::size_t> spoiled;
  for (int round = 0; round < 20; ++round) {
    for (const Proposal& proposal : loop.propose(4)) {
      Sample sample = invented_sample(points[proposal.point]);
      // The very first result is torn.
      if (!spoiled.empty() && random.uniform() > 0.1) {
        loop.complete(proposal.point, std::move(sample));
        continue;
      }
      const auto kind = spoiled.empty() ? 1U : random.below(5);
      spoiled.insert(proposal.point);
      if (kind == 0) sample.profile[7] = std::numeric_limits<double>::quiet_NaN();
      if (kind == 1) sample.profile.resize(23), sample.errors.resize(23);
      if (kind == 2) sample.errors[3] = std::numeric_limits<double>::infinity();
      if (kind == 3) sample.parameters[0] += 0.25;
      if (kind == 4)
        loop.drop(proposal.point, "temperature 1.31 is outside of [0.98, 1.02]");
      else
        loop.complete(proposal.point, std::move(sample));
    }
    if (!loop.is_training_due()) continue;
    const TrainingSet& set = loop.begin_training().set;
    for (const float value : set.y) REQUIRE(std::isfinite(value));
    loop.fail_training();
  }
  CHECK(spoiled.size() > 4);
  REQUIRE(loop.faults().size() == spoiled.size());
  for (const auto& [point, reason] : loop.faults()) {
    CHECK(spoiled.contains(point));
    CHECK_FALSE(reason.empty());
  }
  REQUIRE(loop.faults().size() < 40);
}

TEST_CASE("while trainings fail the loop goes on, filling the space") {
  const auto points = invented_points(5);
  LoopSettings settings = quick_settings();
  settings.holdout = 4;
  SurrogateLoop loop(points, settings);
  std::set<std::size_t> seen;
  int trainings = 0;
  for (;;) {
    const std::vector<Proposal> proposals = loop.propose(3);
    if (proposals.empty()) break;
    for (const Proposal& proposal : proposals) {
      CHECK(seen.insert(proposal.point).second);
      loop.complete(proposal.point, invented_sample(points[proposal.point]));
    }
    if (loop.is_training_due()) {
      loop.begin_training();
      loop.fail_training();
      ++trainings;
    }
  }
  CHECK(seen.size() == 25);
  CHECK(trainings > 1);
  CHECK(loop.surrogate() == nullptr);
  CHECK_FALSE(loop.is_target_reached());
}

TEST_CASE("a point whose statistical error dominates is lengthened, a few times at most") {
  const auto points = invented_points();
  LoopSettings settings = quick_settings();
  settings.most_lengthened = 2;
  SurrogateLoop loop(points, settings);
  std::size_t noisy = points.size();
  for (const Proposal& proposal : loop.propose(20)) {
    Sample sample = invented_sample(points[proposal.point]);
    if (!proposal.is_holdout && noisy == points.size()) {
      noisy = proposal.point;
      sample.errors.assign(40, 30.0);
    }
    loop.complete(proposal.point, std::move(sample));
  }
  train(loop);
  const std::vector<Proposal> next = loop.propose(3);
  REQUIRE(next.size() == 3);
  CHECK(next[0] == Proposal{.point = noisy, .steps = 2.0});
  CHECK(next[1].steps == 1.0);  // it is being lengthened
  Sample longer = invented_sample(points[noisy]);
  longer.errors.assign(40, 30.0 / std::sqrt(2.0));
  longer.steps = 2.0;
  loop.complete(noisy, longer);
  CHECK(loop.propose(1) == std::vector<Proposal>{{.point = noisy, .steps = 4.0}});
  SECTION("twice as long is twice the weight") {
    loop.drop(noisy, "the machine's disk is full");
    for (const Proposal& proposal : loop.propose(4))
      loop.complete(proposal.point, invented_sample(points[proposal.point]));
    for (const Proposal& proposal : std::vector<Proposal>{next[1], next[2]})
      loop.complete(proposal.point, invented_sample(points[proposal.point]));
    REQUIRE(loop.is_training_due());
    CHECK(loop.begin_training().set.rows() == 10 + 1 + 6);
    CHECK(loop.faults().contains(noisy));
  }
  SECTION("it is not lengthened for ever") {
    longer.steps = 4.0;
    loop.complete(noisy, longer);
    for (const Proposal& proposal : loop.propose(5)) CHECK(proposal.point != noisy);
  }
}

TEST_CASE("the target needs confidence: two held out profiles cannot give it") {
  const auto points = invented_points();
  LoopSettings settings = quick_settings();
  settings.target.within_error_bars = 0.95;
  settings.holdout = 1;
  SurrogateLoop loop(points, settings);
  for (const Proposal& proposal : loop.propose(40)) {
    Sample sample = invented_sample(points[proposal.point]);
    sample.errors.assign(40, 10.0);  // all bins are within
    loop.complete(proposal.point, std::move(sample));
  }
  train(loop);
  CHECK(loop.error()->within == 1.0);
  CHECK_FALSE(loop.is_target_reached());
}

}  // namespace scavenger::surrogate
