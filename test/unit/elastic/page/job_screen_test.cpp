#include "elastic/page/job_screen.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

RunHistory short_history() {
  RunHistory history;
  history.apply({.time = 0.0, .event = sample_start()});
  history.apply({.time = 2.0, .event = sample_membership(1, {40, 24})});
  history.apply({.time = 12.0, .event = sample_iterations(1, 0, 100, 2)});
  history.apply({.time = 13.0, .event = fact::Warning{.text = "a late\x1b[2J clock"}});
  return history;
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("A screen shows the job, its workers, its memberships, and what happened") {
  const auto lines = job_screen(short_history(), "training", 13.0, {120, 40});

  CHECK(lines[0] == "fashion_mlp  training");
  CHECK(has(lines, "epoch 6.40 of 10  iteration 100"));
  CHECK(has(lines, "  0             40"));
  CHECK(has(lines, "  1             24"));
  CHECK(has(lines, "the job starts"));
  CHECK(has(lines, "warning: a late?[2J clock"));
}

TEST_CASE("A screen fits the terminal, and loses what matters least") {
  for (const std::size_t rows : {2, 3, 8, 24})
    for (const std::size_t columns : {10, 40, 80}) {
      const auto lines = job_screen(short_history(), "training", 13.0, {columns, rows});
      CHECK(lines.size() < rows);
      for (const std::string& line : lines) CHECK(line.size() <= columns);
    }
}

TEST_CASE("A job that does not answer, and one that has ended, are told apart") {
  RunHistory history = short_history();
  CHECK(job_screen(history, "", 13.0, {80, 24})[0] == "fashion_mlp  does not answer");
  history.apply({.time = 14.0, .event = sample_end(100, 6400)});
  CHECK(has(job_screen(history, "", 14.0, {120, 24}), "max epochs: 10 epochs are done"));
}

}  // namespace scavenger::elastic
