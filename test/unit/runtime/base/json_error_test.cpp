#include "runtime/base/json_error.h"

#include <catch2/catch.hpp>
#include <functional>

using namespace scavenger;
using nlohmann::json;

namespace {

std::string problem_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const json::exception& error) {
    return describe(error);
  }
  return "no problem";
}

}  // namespace

TEST_CASE("what is wrong with a document is said without the library's words") {
  const json document = {{"a", 1}};

  CHECK(problem_of([] { json::parse("{\"a\": }").clear(); }) == "it is not JSON from byte 7 on");
  CHECK(problem_of([&] { (void)document.at("config"); }) == "it lacks the key \"config\"");
  CHECK(problem_of([&] { (void)document.at("a").get<std::string>(); }) ==
        "a value is of another kind than belongs there");
  CHECK(problem_of([] { (void)json::array().at(3); }) == "a value is missing, or out of its range");
}
