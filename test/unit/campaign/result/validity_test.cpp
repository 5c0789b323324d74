#include "campaign/result/validity.h"

#include <catch2/catch.hpp>

namespace scavenger::campaign {
namespace {

const SimulationResult kRules{
    {"r.json", "p.csv"}, MergeRule::kLast, ProfileColumns{"p.csv", "z", {"p"}, {"e"}}};
const ValidityRules kValid{true, {{"temperature", {0.9, 1.1}}}};

std::optional<std::string> fault(const std::string& json, const std::string& table,
                                 const ValidityRules& valid = kValid) {
  return fault_of({{"r.json", json}, {"p.csv", table}}, kRules, valid);
}

TEST_CASE("A good result has no fault", "[validity]") {
  CHECK(!fault(R"({"temperature": 1.0})", "z,p,e\n0,1,0.1\n"));
  // Too short for error bars.
  CHECK(!fault(R"({"temperature": 1.0})", "z,p,e\n0,1,nan\n"));
}

TEST_CASE("Each kind of a bad result is recognised", "[validity]") {
  CHECK(fault(R"({"temperature": 1.0})", "z,p,e\n0,nan,0.1\n") == "p in p.csv is nan");
  CHECK(fault(R"({"temperature": 1.0})", "z,p,e\n0,inf,0.1\n"));
  CHECK(fault(R"({"temperature": 1.3})", "z,p,e\n0,1,0.1\n") ==
        "temperature is 1.3, outside of 0.9 to 1.1");
  CHECK(fault(R"({"t": 1.0})", "z,p,e\n0,1,0.1\n") == "the result has no number \"temperature\"");
  CHECK(fault(R"({"temperature": NaN})", "z,p,e\n0,1,0.1\n"));
  CHECK(fault(R"({"temperature": 1.0)", "z,p,e\n0,1,0.1\n"));     // torn
  CHECK(fault(R"({"temperature": 1.0})", "z,p,e\n0,1,0.1\n1,"));  // torn
  CHECK(fault(R"({"temperature": 1.0})", "z,q,e\n0,1,0.1\n"));
  CHECK(fault(R"({"temperature": 1.0})", "z,p,e\n") == "p.csv has no rows");
  CHECK(fault_of({{"r.json", "{}"}}, kRules, kValid) == "there is no result p.csv");
}

TEST_CASE("Numbers that are not finite may be allowed", "[validity]") {
  CHECK(!fault(R"({"temperature": 1.0})", "z,p,e\n0,inf,0.1\n", {false, {}}));
}

}  // namespace
}  // namespace scavenger::campaign
