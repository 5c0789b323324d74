#include "campaign/space/placeholders.h"

#include <catch2/catch.hpp>

namespace scavenger::campaign {
namespace {

const Substitutions kValues = {{"Z", "4.2"}, {"until", "100"}};

TEST_CASE("Names in a word's braces are replaced", "[placeholders]") {
  CHECK(fill_word("--slit={Z}:{until}", kValues) == "--slit=4.2:100");
  CHECK(fill_word("{{Z}} {print $1} {", kValues) == "{Z} {print $1} {");
  CHECK(placeholders_in("{a}{{b}}{c_1}{ d }") == std::vector<std::string>{"a", "c_1"});
}

TEST_CASE("A template keeps what it does not know", "[placeholders]") {
  CHECK(fill_template("variable Z equal {{Z}}\nrun ${N} {{other}} {Z} {{", kValues) ==
        "variable Z equal 4.2\nrun ${N} {{other}} {Z} {{");
  CHECK(fill_template("{{{Z}}}", kValues) == "{4.2}");
  CHECK(fill_template("", kValues).empty());
}

TEST_CASE("Names are those of a programming language", "[placeholders]") {
  CHECK(is_parameter_name("c_2"));
  CHECK(!is_parameter_name("2c"));
  CHECK(!is_parameter_name(""));
  CHECK(!is_parameter_name("a-b"));
  CHECK(is_reserved_name("seed"));
}

}  // namespace
}  // namespace scavenger::campaign
