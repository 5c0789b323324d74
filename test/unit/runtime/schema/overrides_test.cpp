#include "runtime/schema/overrides.h"

#include <catch2/catch.hpp>

#include "test/unit/runtime/config/config_folder.h"

namespace scavenger {
namespace {

LocatedJson apply(const std::string& text, const std::vector<std::string>& overrides) {
  LocatedJson config = parse_located_json(text, "x.json");
  apply_overrides(overrides, config);
  return config;
}

std::string after(const std::string& text, const std::vector<std::string>& overrides) {
  return apply(text, overrides).document.dump();
}

TEST_CASE("An override replaces or adds a value, which is JSON or else text") {
  CHECK(after(R"({"a":{"b":1}})", {"a.b=2.5"}) == R"({"a":{"b":2.5}})");
  CHECK(after(R"({"a":1})", {"b.c=true"}) == R"({"a":1,"b":{"c":true}})");
  CHECK(after(R"({"a":1})", {"a=adam"}) == R"({"a":"adam"})");
  CHECK(after(R"({"a":1})", {"a=x=y"}) == R"({"a":"x=y"})");
  CHECK(after(R"({"a":1})", {R"(a={"b":[1,2]})"}) == R"({"a":{"b":[1,2]}})");
  CHECK(after(R"({"a":1})", {R"(a="12")"}) == R"({"a":"12"})");
  CHECK(after(R"({"a":1})", {"a="}) == R"({"a":""})");
}

TEST_CASE("An override reaches the items of a list by index") {
  CHECK(after(R"({"a":[{"b":1},{"b":2}]})", {"a.1.b=3"}) == R"({"a":[{"b":1},{"b":3}]})");
}

TEST_CASE("null removes a key") {
  CHECK(after(R"({"a":1,"b":{"c":2,"d":3}})", {"b.c=null"}) == R"({"a":1,"b":{"d":3}})");
  CHECK(after(R"({"a":1})", {"b=null"}) == R"({"a":1})");
}

TEST_CASE("Overrides apply in their order, so that the last one wins") {
  CHECK(after(R"({"a":1})", {"a=2", "a=3"}) == R"({"a":3})");
}

TEST_CASE("What an override wrote is known by its argument, and the rest by its line") {
  const LocatedJson config =
      apply("{\n\"a\": {\n\"b\": 1,\n\"c\": 2 }\n}", {"a.b=5", R"(d={"e":1})"});

  CHECK(config.places.describe(JsonPointer("/a/b")) == "--set a.b=5");
  CHECK(config.places.describe(JsonPointer("/a/c")) == "x.json:4: a.c");
  CHECK(config.places.describe(JsonPointer("/d/e")) == R"(--set d={"e":1}: d.e)");
  CHECK(config.places.is_override(JsonPointer("/d/e")));
  CHECK_FALSE(config.places.is_override(JsonPointer("/a/c")));
}

TEST_CASE("Below a replaced object no line of the file is left") {
  const LocatedJson config = apply("{\n\"a\": {\n\"b\": 1 }\n}", {R"(a={"b":2})"});

  CHECK(config.places.describe(JsonPointer("/a/b")) == R"(--set a={"b":2}: a.b)");
}

TEST_CASE("An override that leads nowhere is an error in its own name") {
  struct Case {
    std::string override_text, what, remedy;
  };
  const auto example = GENERATE(
      Case{"foo", "this is not of the form key=value",
           "write, say, --set optimizer.learning_rate=0.05"},
      Case{".x=1", "a key before or after a dot is empty",
           "write, say, --set optimizer.learning_rate=0.05"},
      Case{"=1", "this is not of the form key=value",
           "write, say, --set optimizer.learning_rate=0.05"},
      Case{"n.x=1", "n is no object, so it has no \"x\"", "set n itself"},
      Case{"l.2=1", "l is a list of 2, without an item \"2\"", "items are counted from 0"},
      Case{"l.x.y=1", "l is a list of 2, without an item \"x\"", "items are counted from 0"},
      Case{"l.99999999999999999999=1", "l is a list of 2, without an item \"99999999999999999999\"",
           "items are counted from 0"},
      Case{"n=\xff", "the value is not UTF-8 text", "use UTF-8"});

  const Problem problem =
      config_problem([&] { apply(R"({"n": 1, "l": [1, 2]})", {example.override_text}); });

  CHECK(problem.where == "--set " + example.override_text);
  CHECK(problem.what == example.what);
  CHECK(problem.remedy == example.remedy);
}

}  // namespace
}  // namespace scavenger
