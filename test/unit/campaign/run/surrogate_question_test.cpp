#include "campaign/run/surrogate_question.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "runtime/base/error.h"

namespace scavenger::campaign {
namespace {

CampaignConfig space_of_two() {
  CampaignConfig config;
  config.space = {{"Z", {{}, {4.0, 5.0}, 0.1}}, {"c", {{1.0, -0.5}, {}, 0.0}}};
  return config;
}

std::string complaint(const std::string& text) {
  try {
    parse_point(space_of_two(), text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

TEST_CASE("A point is read in the order of the space", "[surrogate_question]") {
  const CampaignConfig config = space_of_two();
  CHECK(parse_point(config, "c=0.25, Z=4.05") == std::vector<double>{4.05, 0.25});
  CHECK(parse_point(config, "Z=+4e0,c=-.5") == std::vector<double>{4.0, -0.5});
  CHECK(parse_point(config, "Z=5.0000000001,c=1") == std::vector<double>{5.0, 1.0});
}

TEST_CASE("A point that is none, or not of the space, is one error", "[surrogate_question]") {
  using Catch::Contains;
  CHECK_THAT(complaint(""), Contains("Z is missing"));
  CHECK_THAT(complaint("Z=4"), Contains("c is missing"));
  CHECK_THAT(complaint("Z=4,c"), Contains("\"c\" is no NAME=VALUE"));
  CHECK_THAT(complaint("Z=4,c=1,d=1"), Contains("no parameter \"d\""));
  CHECK_THAT(complaint("Z=4,c=1,Z=4"), Contains("Z is there twice"));
  CHECK_THAT(complaint("Z=4x,c=1"), Contains("\"4x\" of Z is no number"));
  CHECK_THAT(complaint("Z=,c=1"), Contains("is no number"));
  CHECK_THAT(complaint("Z=nan,c=1"), Contains("outside of the space"));
  CHECK_THAT(complaint("Z=5.1,c=1"), Contains("Z=5.1 is outside of the space, where it is 4 to 5"));
  CHECK_THAT(complaint("Z=4,c=-0.6"), Contains("where it is -0.5 to 1"));
}

TEST_CASE("A prediction has a line for each place, and two columns for each value",
          "[surrogate_question]") {
  CampaignConfig config = space_of_two();
  config.simulation.result.profile = ProfileColumns{"p.csv", "z", {"a", "b"}, {}};
  const PointPrediction one{{4.0, 1.0}, {0.5, 1.0}, {{1, 2, 3, 4}, {0.1, 0.2, 0.3, 0.4}}};
  std::ostringstream out, both;
  write_predictions(config, {one}, out);
  CHECK(out.str() == "z,a,a_sigma,b,b_sigma\n0.5,1,0.1,3,0.3\n1,2,0.2,4,0.4\n");
  const PointPrediction other{{4.5, 0.25}, {0.5}, {{5, 6}, {0.5, 0.6}}};
  write_predictions(config, {one, other}, both);
  CHECK(both.str() ==
        "Z,c,z,a,a_sigma,b,b_sigma\n4,1,0.5,1,0.1,3,0.3\n4,1,1,2,0.2,4,0.4\n"
        "4.5,0.25,0.5,5,0.5,6,0.6\n");
}

}  // namespace
}  // namespace scavenger::campaign
