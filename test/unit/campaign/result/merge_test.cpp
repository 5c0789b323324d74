#include "campaign/result/merge.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"

namespace scavenger::campaign {
namespace {

SegmentResult segment(std::uint64_t steps, const std::string& json, const std::string& table) {
  return {steps, {{"r.json", json}, {"p.csv", table}, {"note.txt", std::to_string(steps)}}};
}

const SimulationResult kMeans{
    {"r.json", "p.csv"}, MergeRule::kMeanBySteps, ProfileColumns{"p.csv", "z", {"p"}, {"e"}}};

TEST_CASE("Means are weighted by steps, and errors are those of independent parts", "[merge]") {
  const auto files = merge_results(
      {segment(100, R"({"t": 1.0, "of": {"n": 4}, "name": "a"})", "z,p,e\n0,1,0.3\n"),
       segment(300, R"({"t": 2.0, "of": {"n": 8}, "name": "b"})", "z,p,e\n0,5,0.1\n")},
      kMeans);
  const auto numbers = parse_numbers(files[0].content, "r.json");
  CHECK(numbers.at("t") == Approx(1.75));
  CHECK(numbers.at("of.n") == Approx(7.0));
  const Profile profile = read_profile(files, *kMeans.profile);
  CHECK(profile.x[0] == 0.0);
  CHECK(profile.y[0][0] == Approx(4.0));
  CHECK(profile.errors[0][0] == Approx(std::hypot(0.25 * 0.3, 0.75 * 0.1)));
  CHECK(files[2].content == "300");
}

TEST_CASE("The last segment's files are the result where they are of the whole", "[merge]") {
  SimulationResult last = kMeans;
  last.merge = MergeRule::kLast;
  const auto files =
      merge_results({segment(1, "{}", "z\n"), segment(2, "{\"a\":1}", "z\n1\n")}, last);
  CHECK(files[0].content == "{\"a\":1}");
}

TEST_CASE("Segments that do not fit together are refused", "[merge]") {
  CHECK_THROWS_AS(
      merge_results({segment(1, "{}", "z\n0\n"), segment(1, "{}", "z\n0\n1\n")}, kMeans),
      DataError);
  CHECK_THROWS_AS(
      merge_results({segment(1, "{}", "z\n0\n"), segment(1, "{\"t\":1}", "z\n0\n")}, kMeans),
      DataError);
  CHECK_THROWS_AS(merge_results({{1, {}}, segment(1, "{}", "z\n0\n")}, kMeans), DataError);
}

}  // namespace
}  // namespace scavenger::campaign
