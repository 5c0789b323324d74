#include "runtime/schema/located_json.h"

#include <catch2/catch.hpp>

#include "test/unit/runtime/config/config_folder.h"

namespace scavenger {
namespace {

std::string place(const LocatedJson& json, const char* pointer) {
  return json.places.describe(JsonPointer(pointer));
}

TEST_CASE("Each value is known by the line on which it stands") {
  const LocatedJson json = parse_located_json(
      "{\n"
      "  \"a\": 1,\n"
      "  \"b\": {\n"
      "    \"c\": [\n"
      "      10\n"
      "      ,\n"
      "      20,\r\n"
      "\t\t{ \"d\": null, \"e\": \"x\\ny\" }\n"
      "    ], \"f\": true }, \"g\": -1.5\n"
      "}\n",
      "x.json");

  CHECK(place(json, "") == "x.json:1");
  CHECK(place(json, "/a") == "x.json:2: a");
  CHECK(place(json, "/b") == "x.json:3: b");
  CHECK(place(json, "/b/c") == "x.json:4: b.c");
  CHECK(place(json, "/b/c/0") == "x.json:5: b.c.0");
  CHECK(place(json, "/b/c/1") == "x.json:7: b.c.1");
  CHECK(place(json, "/b/c/2/e") == "x.json:8: b.c.2.e");
  CHECK(place(json, "/b/f") == "x.json:9: b.f");
  CHECK(place(json, "/g") == "x.json:9: g");
}

TEST_CASE("An object of very many keys is refused before each is compared with all others") {
  std::string text = "{";
  for (int i = 0; i < 1001; ++i) text += (i == 0 ? "\"k" : ",\n\"k") + std::to_string(i) + "\": 1";
  CHECK_THROWS_WITH(parse_located_json(text + "}", "x.json"),
                    Catch::Contains("more than 1000 keys") && Catch::Contains("x.json:1001"));
}

TEST_CASE("The document is the one that the JSON library reads") {
  const std::string text =
      R"({"b": [1, -2, 3.5, "four", true, null, [], {}], "a": {"x/y": 1, "": {"z": [[1], [2]]}}})";

  CHECK(parse_located_json(text, "x.json").document == Json::parse(text));
  CHECK(parse_located_json("\n 12", "x.json").document == Json(12));
}

TEST_CASE("A value that was not written has the line of what it would stand in") {
  const LocatedJson json = parse_located_json("{\n\"a\": {\n\"b\": 1 } }", "x.json");

  CHECK(place(json, "/a/missing") == "x.json:2: a.missing");
  CHECK(place(json, "/missing") == "x.json:1: missing");
}

TEST_CASE("A key that is given twice is an error at the second, which names the first") {
  const Problem problem = config_problem(
      [] { parse_located_json("{ \"a\": {\n\"b\": 1,\n\"c\": 2,\n\"b\": 3 } }", "x.json"); });

  CHECK(problem.where == "x.json:4: a.b");
  CHECK(problem.what == "the key \"b\" is given twice");
  CHECK(problem.remedy == "keep one; the other is at x.json:2: a.b");
}

TEST_CASE("What is no JSON is an error with line and column") {
  struct Case {
    std::string text, where, what;
  };
  const auto example =
      GENERATE(Case{"", "x.json:1:1", "unexpected end of input"},
               Case{"{\n  \"a\": 1,\n}", "x.json:3:1", "unexpected '}'; expected string literal"},
               Case{"{\n  \"a\" 1\n}", "x.json:2:7", "unexpected number literal; expected ':'"},
               Case{"{\n  \"a\": yes\n}", "x.json:2:8", "invalid literal"},
               Case{"{\n  \"a\": 1e999\n}", "x.json:2:12", "number overflow"},
               Case{"{ \"a\": \"open\n}", "x.json:1:13", "control character U+000A"},
               Case{"{ \"a\": 1", "x.json:1:9", "unexpected end of input"},
               Case{"{} {}", "x.json:1:4", "unexpected '{'; expected end of input"},
               Case{"{ \"a\": \"\xff\" }", "x.json:1:9", "ill-formed UTF-8"});
  CAPTURE(example.text);

  const Problem problem = config_problem([&] { parse_located_json(example.text, "x.json"); });

  CHECK(problem.where == example.where);
  CHECK_THAT(problem.what,
             Catch::StartsWith("this is not JSON: ") && Catch::Contains(example.what));
  CHECK_THAT(problem.remedy, Catch::Contains("comma, quote or bracket"));
}

}  // namespace
}  // namespace scavenger
