// An advisor that warns after each twentieth iteration, and logs of it that are right and wrong.
#include "elastic/decisions/advisor_replay.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

// A resumed process was told otherwise.
ReplayedAdvisor::Decide warn_each_twenty(const fact::Start& start) {
  return [each = start.resumed_from_iteration ? 30U : 20U](const RunNumbers& numbers) {
    std::vector<RunEvent> warnings;
    if (numbers.iterations % each == 0)
      warnings.push_back(fact::Warning{.text = "after " + std::to_string(numbers.iterations)});
    return warnings;
  };
}

bool is_warning(const RunEvent& event) {
  return std::holds_alternative<fact::Warning>(event);
}

bool is_of_the_user(const RunEvent& event) {
  return std::get<fact::Warning>(event).text == "the user's";
}

RunEvent warning(std::string message) {
  return fact::Warning{.text = std::move(message)};
}

RunEvent ten_iterations(std::uint64_t first) {
  return sample_iterations(1, first, 10, 1);
}

// The differences that a replay finds after a job of one worker has begun.
std::vector<std::string> differences(std::vector<RunEvent> events, std::uint64_t decisions) {
  events.insert(events.begin(), {sample_start(), sample_membership(1, {64})});
  AdvisorReplay replay({.decide_of = warn_each_twenty,
                        .is_decision = is_warning,
                        .may_come_from_outside = is_of_the_user});
  std::vector<std::string> found;
  double time = 0.0;
  for (const RunEvent& event : events)
    if (const auto difference = replay.add({time += 1.0, event})) found.push_back(*difference);
  CHECK(replay.decisions() == decisions);
  return found;
}

}  // namespace

TEST_CASE("A log that has what the advisor decides passes") {
  CHECK(differences({ten_iterations(0), ten_iterations(10), warning("after 20"), ten_iterations(20),
                     ten_iterations(30), warning("after 40")},
                    2)
            .empty());
}

TEST_CASE("The noise may settle between a measurement and what is decided on it") {
  CHECK(differences({ten_iterations(0), ten_iterations(10),
                     fact::NoiseStable{.iteration = 20, .noise_phase = 1}, warning("after 20"),
                     ten_iterations(20)},
                    1)
            .empty());
}

TEST_CASE("A decision from outside may be anywhere, another one may not") {
  CHECK(differences({ten_iterations(0), warning("the user's")}, 0).empty());
  const auto found = differences({ten_iterations(0), warning("after 10")}, 0);
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with("nothing is to be decided, and the log has"));
}

TEST_CASE("Another decision than the advisor's, and none, are differences") {
  const auto other = differences(
      {ten_iterations(0), ten_iterations(10), warning("after 19"), ten_iterations(20)}, 1);
  REQUIRE(other.size() == 1);
  CHECK(other[0].find("after 20") < other[0].find("after 19"));
  const auto none = differences({ten_iterations(0), ten_iterations(10), ten_iterations(20)}, 0);
  REQUIRE(none.size() == 1);
  CHECK(none[0].starts_with("the log lacks"));
}

TEST_CASE("A decision that a kill has swallowed is no difference") {
  fact::Start resumed = sample_start();
  resumed.resumed_from_iteration = 0;
  resumed.time_before = 3.0;
  CHECK(differences({ten_iterations(0), ten_iterations(10), resumed}, 0).empty());
}

TEST_CASE("What each process decided is compared with what that process was told") {
  fact::Start resumed = sample_start();
  resumed.resumed_from_iteration = 20;
  resumed.time_before = 4.0;
  const auto trains = [](std::uint64_t first) { return sample_iterations(2, first, 10, 1); };
  CHECK(differences({ten_iterations(0), ten_iterations(10), warning("after 20"), resumed,
                     sample_membership(2, {64}, 20), trains(20), warning("after 30"), trains(30)},
                    2)
            .empty());
}

}  // namespace scavenger::elastic
