#include "runtime/base/json_text.h"

#include <catch2/catch.hpp>
#include <string>

using namespace scavenger;
using nlohmann::json;

TEST_CASE("a document becomes text and the same document again") {
  const json document = {{"b", {1, 2.5, nullptr}}, {"a", "\xc3\xa9"}};
  CHECK(json_text(document) == "{\"a\":\"\xc3\xa9\",\"b\":[1,2.5,null]}");
  CHECK(parse_json(json_text(document, {.indent = 2})) == document);
  CHECK(json_text(document, {.ascii_only = true}) == R"({"a":"\u00e9","b":[1,2.5,null]})");
}

TEST_CASE("an ordered document keeps the order of its keys") {
  const auto document = parse_json<nlohmann::ordered_json>(R"({"b":1,"a":2})");
  CHECK(json_text(document) == R"({"b":1,"a":2})");
}

TEST_CASE("bytes that are not UTF-8 are refused, replaced or left out") {
  const json broken = "a\xff";
  CHECK_THROWS_AS(json_text(broken), json::type_error);
  CHECK(json_text(broken, {.broken_utf8 = BrokenUtf8::kReplace}) == "\"a\xef\xbf\xbd\"");
  CHECK(json_text(broken, {.broken_utf8 = BrokenUtf8::kIgnore}) == "\"a\"");
}

TEST_CASE("what is not JSON gives nothing, or an exception for who wants to say where") {
  CHECK_FALSE(try_parse_json("{").has_value());
  CHECK_FALSE(try_parse_json("").has_value());
  CHECK_THROWS_AS(parse_json("{"), json::parse_error);
  CHECK(try_parse_json("null")->is_null());
}

TEST_CASE("nesting is limited, and brackets in texts do not count") {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(try_parse_json(nested(64)).has_value());
  CHECK_FALSE(try_parse_json(nested(65)).has_value());
  CHECK_FALSE(try_parse_json(nested(1'000'000)).has_value());
  CHECK(try_parse_json("\"" + std::string(100, '[') + "\\\"[[\"", 1).has_value());
  CHECK(try_parse_json("[[1],[2],{\"a\":[]}]", 3).has_value());
  CHECK_FALSE(json_nests_deeper("[[1],[2],{\"a\":[]}]", 3));
  CHECK(json_nests_deeper("[[1],[2],{\"a\":[]}]", 2));
}
