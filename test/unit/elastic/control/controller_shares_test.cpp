// Shares that change while the job trains.
#include <catch2/catch.hpp>

#include "test/unit/elastic/control/scripted_job.h"

namespace scavenger::elastic {
namespace {

using Shares = std::vector<std::uint32_t>;

// Worker 1 is four times as fast as worker 0.
ShareRule unequal_rule() {
  ShareRule rule;
  rule.speeds = {{0, 1.0}, {1, 4.0}};
  return rule;
}

Lines make_membership(ScriptedJob& job) {
  job.halted({{Role::kWorker, 0}, {Role::kWorker, 1}, {Role::kShard, 0}});
  return job.all_ready();
}

TEST_CASE("Other shares are taken up at the next boundary, by those that are there") {
  ScriptedJob job(small_plan());
  job.start();
  job.iterate();

  Lines lines = job.feed(SharesWanted{unequal_rule(), "worker 0 is slow"});
  while (lines.empty() || !lines.back().starts_with("halt")) lines = job.iterate();
  CHECK(lines == Lines{"halt worker 0, worker 1 and shard 0"});
  const std::uint64_t boundary = job.controller().iterations_done();
  make_membership(job);

  CHECK(job.controller().membership().shares == Shares{2, 8});
  CHECK(job.controller().membership().batch_size == 10);
  CHECK(job.controller().membership().first_iteration == boundary);
  SECTION("and no further boundary is asked for") {
    for (int i = 0; i < 30; ++i)
      for (const std::string& line : job.iterate()) CHECK_FALSE(line.starts_with("halt"));
  }
}

TEST_CASE("Shares that are what they should be change nothing") {
  ScriptedJob job(small_plan());
  job.start();
  job.iterate();
  CHECK(job.feed(SharesWanted{{}, "as before"}).empty());
  for (int i = 0; i < 30; ++i)
    for (const std::string& line : job.iterate()) CHECK_FALSE(line.starts_with("halt"));
}

TEST_CASE("Shares that are known at the start are those of the first membership") {
  ScriptedJob job(small_plan());
  job.feed(SharesWanted{unequal_rule(), {}});
  job.start();
  CHECK(job.controller().membership().shares == Shares{2, 8});
}

TEST_CASE("A worker's share can be pinned, whatever the rule says, until it is set free") {
  ScriptedJob job(small_plan());
  job.start();
  job.iterate();
  const auto change = [&](const ControllerEvent& event) {
    Lines lines = job.feed(event);
    while (lines.empty() || !lines.back().starts_with("halt")) lines = job.iterate();
    make_membership(job);
    return job.controller().membership().shares;
  };
  CHECK(change(SharePinned{0, 3, "audition"}) == Shares{3, 7});
  // The rule changes; the pinned share stays.
  CHECK(job.feed(SharesWanted{unequal_rule(), "worker 0 is slow"}).empty());
  CHECK(change(SharePinned{0, 0, "free again"}) == Shares{2, 8});
}

TEST_CASE("One share is pinned at a time: another one sets the first one free") {
  ScriptedJob job(small_plan());
  job.start();
  job.iterate();
  job.feed(SharePinned{0, 3, "audition"});
  Lines lines = job.feed(SharePinned{1, 1, "it is worker 1 that is auditioned"});
  while (lines.empty() || !lines.back().starts_with("halt")) lines = job.iterate();
  make_membership(job);
  CHECK(job.controller().membership().shares == Shares{9, 1});
}

TEST_CASE("Another learning rate is taken up at the next boundary, with nothing else changed") {
  ScriptedJob job(small_plan());
  job.feed(RateFactorWanted{10, 1.5, {}});  // before the start: at once
  job.start();
  CHECK(job.controller().membership().rate_factor == 1.5);
  job.iterate();

  CHECK(job.feed(RateFactorWanted{20, 3.0, "of another batch size"}).empty());
  CHECK(job.feed(RateFactorWanted{10, 1.5, "as before"}).empty());
  Lines lines = job.feed(RateFactorWanted{10, 1.25, "less noise"});
  while (lines.empty() || !lines.back().starts_with("halt")) lines = job.iterate();
  make_membership(job);
  CHECK(job.controller().membership().rate_factor == 1.25);
  CHECK(job.controller().membership().batch_size == 10);
  for (int i = 0; i < 30; ++i)
    for (const std::string& line : job.iterate()) CHECK_FALSE(line.starts_with("halt"));
}

TEST_CASE("Another batch size brings its learning rate") {
  ScriptedJob job(small_plan());
  job.start();
  job.iterate();
  Lines lines = job.feed(ReshapeWanted{2, 20, "larger", 1.75});
  CHECK(job.controller().membership().rate_factor == 1.0);
  while (lines.empty() || !lines.back().starts_with("halt")) lines = job.iterate();
  make_membership(job);
  CHECK(job.controller().membership().rate_factor == 1.75);
}

TEST_CASE("What is known of speeds holds for another batch size") {
  ScriptedJob job(small_plan());
  job.feed(SharesWanted{unequal_rule(), {}});
  job.start();
  job.iterate();
  Lines lines = job.feed(ReshapeWanted{2, 20, "larger"});
  while (lines.empty() || !lines.back().starts_with("halt")) lines = job.iterate();
  make_membership(job);
  CHECK(job.controller().membership().shares == Shares{4, 16});
}

}  // namespace
}  // namespace scavenger::elastic
