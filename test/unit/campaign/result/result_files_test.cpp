#include "campaign/result/result_files.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"

namespace scavenger::campaign {
namespace {

TEST_CASE("A table is read as it was written", "[result]") {
  const NumberTable table = parse_number_table("z, p\r\n-1,0.5\n\n2,nan\n", "p.csv");
  CHECK(table.names == std::vector<std::string>{"z", "p"});
  CHECK(table.columns[0] == std::vector<double>{-1, 2});
  CHECK(std::isnan(table.columns[1][1]));
  const NumberTable numbers{{"a", "b"}, {{0.1, 1e300}, {-1.0 / 3.0, 0.0}}};
  const NumberTable again = parse_number_table(text_of(numbers), "p.csv");
  CHECK(again.names == numbers.names);
  CHECK(again.columns == numbers.columns);
}

TEST_CASE("A table that is none is refused with its line", "[result]") {
  CHECK_THROWS_WITH(parse_number_table("z,p\n1,2\n1,x\n", "p.csv"), Catch::Contains("p.csv:3"));
  CHECK_THROWS_WITH(parse_number_table("z,p\n1\n", "p.csv"), Catch::Contains("1 cells"));
  CHECK_THROWS_AS(parse_number_table("", "p.csv"), DataError);
  CHECK_THROWS_AS(parse_number_table("z\n1e", "p.csv"), DataError);
}

TEST_CASE("Numbers of nested objects have dotted keys", "[result]") {
  const auto numbers = parse_numbers(R"({"a": 1, "b": {"c": 2.5, "d": null}, "e": "x"})", "r.json");
  CHECK(numbers == std::map<std::string, double>{{"a", 1.0}, {"b.c", 2.5}});
  CHECK_THROWS_AS(parse_numbers("[1]", "r.json"), DataError);
  CHECK_THROWS_AS(parse_numbers(R"({"a": NaN})", "r.json"), DataError);
  CHECK_THROWS_AS(parse_numbers(R"({"a": )", "r.json"), DataError);
}

TEST_CASE("The step that was reached is read from a key or a file of its own", "[result]") {
  const std::vector<ResultFile> files = {{"r.json", R"({"steps": 120})"}, {"reached", "77\n"}};
  CHECK(read_reached_step(files, {"r.json", "steps"}) == 120);
  CHECK(read_reached_step(files, {"reached", ""}) == 77);
  CHECK_THROWS_AS(read_reached_step(files, {"r.json", "step"}), DataError);
  CHECK_THROWS_AS(read_reached_step(files, {"none", ""}), DataError);
  CHECK_THROWS_AS(read_reached_step({{"reached", "-1"}}, {"reached", ""}), DataError);
  CHECK_THROWS_AS(read_reached_step({{"reached", ""}}, {"reached", ""}), DataError);
}

TEST_CASE("A profile names what it lacks", "[result]") {
  const std::vector<ResultFile> files = {{"p.csv", "z,p,e\n0,1,0.1\n1,2,0.2\n"}};
  const Profile profile = read_profile(files, {"p.csv", "z", {"p"}, {"e"}});
  CHECK(profile.y[0] == std::vector<double>{1, 2});
  CHECK(profile.errors[0] == std::vector<double>{0.1, 0.2});
  CHECK_THROWS_WITH(read_profile(files, {"p.csv", "z", {"q"}, {}}), Catch::Contains("\"q\""));
  CHECK_THROWS_AS(read_profile(files, {"q.csv", "z", {"p"}, {}}), DataError);
}

}  // namespace
}  // namespace scavenger::campaign
