// JSON documents as text, read and written here only: the parser and the serializer are templates
// that cost a second of compile time in each library that calls them by itself.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace scavenger {

// What becomes of text that is not UTF-8.
enum class BrokenUtf8 {
  kRefuse,   // nlohmann::json::type_error
  kReplace,  // by U+FFFD
  kIgnore,   // its bytes are left out
};

struct JsonStyle {
  int indent = -1;  // spaces for each level; -1 writes one line without spaces
  BrokenUtf8 broken_utf8 = BrokenUtf8::kRefuse;
  bool ascii_only = false;  // all other characters become \u escapes
};

std::string json_text(const nlohmann::json& document, const JsonStyle& style = {});
std::string json_text(const nlohmann::ordered_json& document, const JsonStyle& style = {});

// For nlohmann::json and ordered_json. Throws nlohmann::json::parse_error. Repeated keys: the last
// counts.
template <typename Json = nlohmann::json>
Json parse_json(std::string_view text);

// Whether arrays and objects nest deeper than `depth_limit` levels. Texts that are not JSON may
// give any answer.
bool json_nests_deeper(std::string_view text, int depth_limit);

// Nothing if the text is not JSON, or nests deeper than `depth_limit` levels: a copy of a document
// goes as deep on the stack.
template <typename Json = nlohmann::json>
std::optional<Json> try_parse_json(std::string_view text, int depth_limit = 64);

}  // namespace scavenger
