#include "runtime/schema/schema_validator.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "runtime/config/schema_text.h"

namespace scavenger {
namespace {

// Validates one value as the member "x" of a document.
std::vector<Violation> violations_of(const Json& schema_of_x, const Json& x) {
  const Json schema = {
      {"type", "object"}, {"properties", {{"x", schema_of_x}}}, {"required", {"x"}}};
  Json document = {{"x", x}};
  return apply_schema(schema, document);
}

void check_violation(const std::vector<Violation>& violations, const std::string& place,
                     const std::string& what, const std::string& remedy) {
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].place.to_string() == place);
  CHECK(violations[0].what == what);
  CHECK(violations[0].remedy == remedy);
}

TEST_CASE("Values inside their range pass, and its ends are as the keyword says") {
  CHECK(violations_of({{"type", "integer"}, {"minimum", 1}, {"maximum", 5}}, 1).empty());
  CHECK(violations_of({{"type", "integer"}, {"minimum", 1}, {"maximum", 5}}, 5).empty());
  CHECK(violations_of({{"type", "number"}, {"exclusiveMinimum", 0}}, 1e-300).empty());
  CHECK(violations_of({{"type", "number"}, {"exclusiveMinimum", 0}}, 0).size() == 1);
  CHECK(violations_of({{"type", "number"}, {"exclusiveMaximum", 1}}, 1.0).size() == 1);
}

TEST_CASE("An object without properties takes any key, and its values may have a type") {
  const Json labels = {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  CHECK(violations_of(labels, {{"zone", "a"}, {"kubernetes.io/arch", "amd64"}}).empty());
  const auto wrong = violations_of(labels, {{"zone", 3}});
  REQUIRE(wrong.size() == 1);
  CHECK(wrong[0].place.to_string() == "/x/zone");
  CHECK(violations_of({{"type", "object"}}, {{"spec", {{"a", {1, "b"}}}}}).empty());
}

TEST_CASE("A number out of range is told the range") {
  check_violation(violations_of({{"type", "integer"}, {"minimum", 1}, {"maximum", 5}}, 6), "/x",
                  "6 is out of range", "use an integer from 1 to 5");
  check_violation(violations_of({{"type", "number"}, {"exclusiveMinimum", 0}}, -0.5), "/x",
                  "-0.5 is out of range", "use a number above 0");
  check_violation(violations_of({{"type", "number"}, {"minimum", 0}, {"exclusiveMaximum", 1}}, 1.5),
                  "/x", "1.5 is out of range", "use a number of at least 0 and below 1");
  check_violation(violations_of({{"type", "integer"}, {"minimum", 64}, {"multipleOf", 64}}, 100),
                  "/x", "100 is not a multiple of 64",
                  "use an integer of at least 64, a multiple of 64");
}

TEST_CASE("A wrong type is told the right one") {
  check_violation(violations_of({{"type", "number"}}, "fast"), "/x",
                  "the text \"fast\" has the wrong type", "use a number");
  check_violation(violations_of({{"type", "integer"}}, 1.5), "/x",
                  "the number 1.5 has the wrong type", "use an integer");
  check_violation(violations_of({{"type", "string"}}, Json::array()), "/x",
                  "a list has the wrong type", "use text");
  check_violation(violations_of({{"type", "boolean"}}, nullptr), "/x", "null has the wrong type",
                  "use true or false");
  check_violation(violations_of({{"type", {"string", "integer"}}}, Json::object()), "/x",
                  "an object has the wrong type", "use text or an integer");
}

TEST_CASE("A whole number in floating point becomes an integer where one is wanted") {
  const Json schema = {{"type", "object"}, {"properties", {{"x", {{"type", "integer"}}}}}};
  Json document = {{"x", 1e6}};

  CHECK(apply_schema(schema, document).empty());
  CHECK(document.dump() == R"({"x":1000000})");
  CHECK(violations_of({{"type", "integer"}}, 1e300).size() == 1);
}

TEST_CASE("An unknown word is answered with the nearest known one, or with all of them") {
  const Json schema = {{"enum", {"accuracy", "loss"}}};

  check_violation(violations_of(schema, "acuracy"), "/x", "the text \"acuracy\" is not known",
                  "did you mean \"accuracy\"? Use \"accuracy\" or \"loss\"");
  check_violation(violations_of(schema, 7), "/x", "the number 7 is not known",
                  "use \"accuracy\" or \"loss\"");
}

TEST_CASE("An unknown key is answered with the nearest known one, or with all of them") {
  const Json schema = {
      {"type", "object"},
      {"properties", {{"workers", {{"type", "integer"}}}, {"price", Json::object()}}}};

  check_violation(violations_of(schema, {{"worker", 1}}), "/x/worker", "unknown key \"worker\"",
                  "did you mean \"workers\"?");
  check_violation(violations_of(schema, {{"zebra", 1}}), "/x/zebra", "unknown key \"zebra\"",
                  "the keys here are workers and price");
}

TEST_CASE("A missing key is told what it should hold") {
  const Json schema = {{"type", "object"},
                       {"properties", {{"rate", {{"type", "number"}, {"minimum", 0}}}}},
                       {"required", {"rate"}}};

  check_violation(violations_of(schema, Json::object()), "/x", "\"rate\" is missing",
                  "add it: a number of at least 0");
}

TEST_CASE("Lists are checked for their length and item by item") {
  const Json schema = {{"type", "array"},
                       {"minItems", 1},
                       {"maxItems", 2},
                       {"items", {{"type", "integer"}, {"minimum", 1}}}};

  CHECK(violations_of(schema, {1, 2}).empty());
  check_violation(violations_of(schema, Json::array()), "/x", "the list has 0 items",
                  "give at least 1");
  check_violation(violations_of(schema, {1, 2, 3}), "/x", "the list has 3 items", "give at most 2");
  check_violation(violations_of(schema, {1, "b"}), "/x/1", "the text \"b\" has the wrong type",
                  "use an integer of at least 1");
}

TEST_CASE("Text is checked for its length and its pattern") {
  const Json schema = {{"type", "string"},
                       {"minLength", 1},
                       {"maxLength", 3},
                       {"pattern", "^[a-z]*$"},
                       {"patternErrorMessage", "use letters"}};

  CHECK(violations_of(schema, "abc").empty());
  check_violation(violations_of(schema, ""), "/x", "the text is empty",
                  "use text that is not empty");
  check_violation(violations_of(schema, "abcd"), "/x", "the text has 4 characters",
                  "use at most 3");
  check_violation(violations_of(schema, "a/b"), "/x",
                  "\"a/b\" has a character that cannot stand here", "use letters");
}

Json tagged_union() {
  const auto alternative = [](const char* tag, const char* key) {
    return Json{
        {"type", "object"},
        {"required", {"type"}},
        {"properties", {{"type", {{"const", tag}}}, {key, {{"type", "integer"}, {"default", 1}}}}}};
  };
  return {{"oneOf", {alternative("circle", "radius"), alternative("square", "side")}}};
}

TEST_CASE("The tag of a union selects the only alternative that counts") {
  CHECK(violations_of(tagged_union(), {{"type", "circle"}, {"radius", 3}}).empty());
  check_violation(violations_of(tagged_union(), {{"side", 3}, {"type", "circle"}}), "/x/side",
                  "unknown key \"side\"",
                  "it belongs to \"type\": \"square\"; the keys here are type and radius");
}

TEST_CASE("A union without a known tag is told the tags") {
  check_violation(violations_of(tagged_union(), {{"radius", 3}}), "/x", "\"type\" is missing",
                  "add \"type\": \"circle\" or \"square\"");
  check_violation(violations_of(tagged_union(), {{"type", "sqare"}}), "/x/type",
                  "the text \"sqare\" is not known",
                  "did you mean \"square\"? Use \"circle\" or \"square\"");
  check_violation(violations_of(tagged_union(), 5), "/x",
                  "the number 5 stands where an object is needed",
                  "write { \"type\": \"circle\" or \"square\", ... }");
}

TEST_CASE("A value may be a word or a number where the schema offers both") {
  const Json schema = {{"oneOf", {{{"const", "auto"}}, {{"type", "integer"}, {"minimum", 1}}}}};

  CHECK(violations_of(schema, "auto").empty());
  CHECK(violations_of(schema, 4).empty());
  check_violation(violations_of(schema, 0), "/x", "0 is out of range",
                  "use an integer of at least 1");
  check_violation(violations_of(schema, "atuo"), "/x", "the text \"atuo\" is not possible here",
                  "use \"auto\" or an integer of at least 1");
}

TEST_CASE("Missing keys get their defaults, inside defaults too") {
  const Json schema = {
      {"type", "object"},
      {"properties",
       {{"shape", {{"$ref", "#/definitions/shape"}}}, {"free", {{"type", "integer"}}}}},
      {"definitions",
       {{"shape",
         {{"type", "object"},
          {"default", Json::object()},
          {"properties", {{"side", {{"type", "integer"}, {"default", 7}}}}}}}}}};
  Json document = Json::object();

  CHECK(apply_schema(schema, document).empty());
  CHECK(document.dump() == R"({"shape":{"side":7}})");
}

TEST_CASE("All faults are reported") {
  const Json schema = {
      {"type", "object"},
      {"properties", {{"a", {{"type", "integer"}}}, {"b", {{"type", "integer"}}}}}};

  CHECK(violations_of(schema, {{"a", "x"}, {"b", "y"}, {"c", 1}}).size() == 3);
}

// Visits every schema inside `schema`.
void for_each_schema(const Json& schema, const std::function<void(const Json&)>& visit) {
  visit(schema);
  for (const char* map : {"properties", "definitions"})
    if (schema.contains(map))
      for (const Json& inner : schema.at(map)) for_each_schema(inner, visit);
  if (schema.contains("oneOf"))
    for (const Json& inner : schema.at("oneOf")) for_each_schema(inner, visit);
  if (schema.contains("items")) for_each_schema(schema.at("items"), visit);
}

TEST_CASE("The schema of jobs uses only what the validator interprets") {
  const std::set<std::string> interpreted = {"$ref",
                                             "type",
                                             "const",
                                             "enum",
                                             "minimum",
                                             "maximum",
                                             "exclusiveMinimum",
                                             "exclusiveMaximum",
                                             "multipleOf",
                                             "minLength",
                                             "maxLength",
                                             "pattern",
                                             "patternErrorMessage",
                                             "items",
                                             "minItems",
                                             "maxItems",
                                             "properties",
                                             "required",
                                             "additionalProperties",
                                             "default",
                                             "oneOf"};
  const std::set<std::string> for_people = {"$schema", "title", "description", "definitions"};

  for_each_schema(Json::parse(schema_text()), [&](const Json& schema) {
    for (const auto& [keyword, value] : schema.items()) {
      CAPTURE(keyword, schema.dump());
      CHECK((interpreted.contains(keyword) || for_people.contains(keyword)));
    }
  });
}

TEST_CASE("The schema of jobs closes every object and documents every key") {
  for_each_schema(Json::parse(schema_text()), [&](const Json& schema) {
    if (!schema.contains("properties")) return;
    CAPTURE(schema.dump());
    CHECK(schema.value("additionalProperties", true) == false);
    for (const auto& [key, property] : schema.at("properties").items()) {
      CAPTURE(key);
      CHECK((property.contains("description") || property.contains("$ref")));
    }
  });
}

}  // namespace
}  // namespace scavenger
