#include "perfmodel/plan/policy.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

// Four configurations on a convex front, and one that another beats.
const std::vector<Candidate> kCandidates{
    {{16, 1024}, 100, 20}, {{8, 1024}, 120, 12}, {{4, 1024}, 200, 10},
    {{2, 1024}, 390, 9.5}, {{8, 256}, 210, 21},
};

}  // namespace

TEST_CASE("Each policy takes what it says") {
  CHECK(choose(kCandidates, Policy::kMinimumTime).choice->index == 0);
  CHECK(choose(kCandidates, Policy::kMinimumCost).choice->index == 3);
  CHECK(choose(kCandidates, Policy::kKnee).choice->index == 1);
}

TEST_CASE("The Pareto set holds what nothing beats, fastest first") {
  CHECK(pareto_set(kCandidates) == std::vector<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("Of equal candidates one is in the Pareto set") {
  const std::vector<Candidate> twins{{{2, 64}, 10, 1}, {{4, 64}, 10, 1}};
  CHECK(pareto_set(twins) == std::vector<std::size_t>{0});
}

TEST_CASE("Constraints narrow the choice") {
  const auto chosen = [](Policy policy, const Constraints& constraints) {
    return choose(kCandidates, policy, constraints).choice->index;
  };
  CHECK(chosen(Policy::kMinimumTime, {.max_cost = 15}) == 1);
  CHECK(chosen(Policy::kMinimumCost, {.max_seconds = 150}) == 1);
  CHECK(chosen(Policy::kMinimumCost, {.min_workers = 4}) == 2);
  CHECK(chosen(Policy::kMinimumTime, {.max_workers = 4}) == 2);
  CHECK(chosen(Policy::kMinimumTime, {.max_local_batch = 200}) == 0);
  CHECK(chosen(Policy::kMinimumTime, {.max_local_batch = 60}) == 4);
  CHECK(chosen(Policy::kMinimumCost, {.allowed_workers = {8, 16}}) == 1);
  CHECK(chosen(Policy::kMinimumCost, {.allowed_batches = {256}}) == 4);
}

TEST_CASE("The memory bound counts the largest of unequal local batches") {
  const std::vector<Candidate> uneven{{{3, 64}, 1, 1}};  // 22, 21 and 21 samples
  CHECK(choose(uneven, Policy::kMinimumTime, {.max_local_batch = 22}).choice);
  CHECK_FALSE(choose(uneven, Policy::kMinimumTime, {.max_local_batch = 21}).choice);
}

TEST_CASE("An infeasible constraint is named, with the nearest candidate") {
  const Decision decision =
      choose(kCandidates, Policy::kMinimumTime, {.max_cost = 9.0, .max_workers = 16});

  REQUIRE_FALSE(decision.choice);
  CHECK(decision.infeasible->binding == std::vector<std::string>{"max_cost"});
  CHECK(decision.infeasible->nearest == 3);
  CHECK(decision.infeasible->message.find("max_cost stands in the way") != std::string::npos);
  CHECK(decision.infeasible->message.find("K = 2, B = 1024") != std::string::npos);
}

TEST_CASE("Two constraints that conflict are both named") {
  const Decision decision =
      choose(kCandidates, Policy::kMinimumTime, {.max_seconds = 110, .max_cost = 11});

  CHECK(decision.infeasible->binding == std::vector<std::string>{"max_seconds", "max_cost"});
}

TEST_CASE("Without a knee the smallest time x cost is taken, and the reason says so") {
  const std::vector<Candidate> two{{{2, 64}, 10, 5}, {{1, 64}, 16, 3}};

  const Decision decision = choose(two, Policy::kKnee);

  CHECK(decision.choice->index == 1);
  CHECK(decision.choice->reason.find("no knee") != std::string::npos);
}

TEST_CASE("Machines that cost nothing leave the fastest as the knee") {
  const std::vector<Candidate> free{{{1, 64}, 30, 0}, {{2, 64}, 20, 0}, {{4, 64}, 15, 0}};
  CHECK(choose(free, Policy::kKnee).choice->index == 2);
}

TEST_CASE("A move must gain more than the margin after the resize has been paid") {
  const Move move{.stay_seconds = 1000,
                  .stay_cost = 10,
                  .move_seconds = 900,
                  .move_cost = 10,
                  .resize_seconds = 40,
                  .resize_cost = 0.2};

  CHECK(worth_moving(move, Policy::kMinimumTime, 0.05));
  CHECK_FALSE(worth_moving(move, Policy::kMinimumTime, 0.07));
  CHECK_FALSE(worth_moving(move, Policy::kMinimumCost, 0.0));
  CHECK(worth_moving(move, Policy::kKnee, 0.0));
}

TEST_CASE("Policies are found by name, and a wrong name gets the list") {
  for (const Policy policy : {Policy::kMinimumTime, Policy::kMinimumCost, Policy::kKnee})
    CHECK(parse_policy(name_of(policy)) == policy);
  CHECK_THROWS_WITH(parse_policy("fastest"), Catch::Contains("min-time, min-cost and knee"));
}

}  // namespace scavenger::perfmodel
