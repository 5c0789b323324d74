#include "elastic/events/written_iterations.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

// By the slow way, which alone takes a space; nothing where that refuses it.
std::optional<LoggedEvent> read_slowly(const std::string& line) {
  try {
    return from_json_line(" " + line, "events.jsonl:1");
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::vector<std::string> sample_lines() {
  fact::Iterations awkward = sample_iterations(7, 100, 3, 2);
  awkward.loss = {-1.5e-300, 0.0, 1.25e17};
  awkward.seconds = {1e-9, 12345.0, 0.1};
  std::vector<std::string> lines;
  for (const fact::Iterations& one :
       {awkward, sample_iterations(1, 0, 1, 0), sample_half_batches(7, 103)})
    lines.push_back(to_json_line({.time = 12.000001, .event = one}));
  return lines;
}

}  // namespace

TEST_CASE("What is written is read quickly, and as the slow way reads it") {
  for (const std::string& line : sample_lines()) {
    const auto quick = read_written_iterations(line);
    INFO(line);
    REQUIRE(quick.has_value());
    CHECK(*quick == read_slowly(line));
  }
}

TEST_CASE("Whatever is changed in a line, the quick way takes nothing that the slow one refuses") {
  std::size_t taken = 0;
  for (const std::string& line : sample_lines())
    for (std::size_t i = 0; i < line.size(); ++i)
      for (const char* change : {"", "0", "9", "-", ".", "e", ",", "[", "}", "\"", " ", "null"}) {
        const std::string changed = line.substr(0, i) + change + line.substr(i + 1);
        const auto quick = read_written_iterations(changed);
        if (!quick) continue;
        ++taken;
        const auto slow = read_slowly(changed);
        INFO(changed);
        // Lists of different lengths are the caller's to refuse.
        if (!slow)
          CHECK_THROWS_WITH(from_json_line(changed, ""),
                            Catch::Contains("entries") || Catch::Contains("same groups"));
        if (slow) CHECK(to_json_line(*quick) == to_json_line(*slow));
      }
  CHECK(taken > 100);
}

TEST_CASE("Other events are not its business") {
  CHECK_FALSE(read_written_iterations("").has_value());
  for (const RunEvent& event : one_of_each())
    CHECK(read_written_iterations(to_json_line({1.0, event})).has_value() ==
          std::holds_alternative<fact::Iterations>(event));
}

}  // namespace scavenger::elastic
