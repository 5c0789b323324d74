#include "apps/command_line/duration.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

using namespace scavenger;

TEST_CASE("durations are read in seconds, minutes, hours and days") {
  CHECK(parse_duration("90s", "--max-time") == 90.0);
  CHECK(parse_duration("45m", "--max-time") == 2700.0);
  CHECK(parse_duration("1.5h", "--max-time") == 5400.0);
  CHECK(parse_duration("2d", "--max-time") == 172800.0);
  CHECK(parse_duration("30", "--max-time") == 30.0);
}

TEST_CASE("what is no positive duration is refused with its place") {
  for (const char* text : {"", "s", "-3s", "0", "3 h", "3hh", "nan", "three"}) {
    INFO(text);
    try {
      (void)parse_duration(text, "--max-time");
      FAIL("it was accepted");
    } catch (const InputError& error) {
      CHECK(error.problem().where == "--max-time");
      CHECK(error.problem().what.find(text) != std::string::npos);
    }
  }
}
