// Reads and writes JSON text. Only this file calls the JSON library's parser and serializer, since
// these are templates that would cost each other library a second of compile time.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace scavenger {

// How text that is not UTF-8 is written.
enum class BrokenUtf8 {
  kRefuse,   // throws nlohmann::json::type_error
  kReplace,  // replaced by U+FFFD
  kIgnore,   // invalid bytes are left out
};

struct JsonStyle {
  int indent = -1;  // spaces for each level; -1 writes one line without spaces
  BrokenUtf8 broken_utf8 = BrokenUtf8::kRefuse;
  bool ascii_only = false;  // all other characters become \u escapes
};

std::string json_text(const nlohmann::json& document, const JsonStyle& style = {});
std::string json_text(const nlohmann::ordered_json& document, const JsonStyle& style = {});

// For nlohmann::json and ordered_json. Of repeated keys the last one counts. Throws
// nlohmann::json::parse_error.
template <typename Json = nlohmann::json>
Json parse_json(std::string_view text);

// Returns whether arrays and objects nest deeper than `depth_limit` levels. The result may be
// either if the text is not JSON.
bool json_nests_deeper(std::string_view text, int depth_limit);

// Returns nothing if the text is not JSON, or if it nests deeper than `depth_limit` levels, since
// copying a document recurses as deeply.
template <typename Json = nlohmann::json>
std::optional<Json> try_parse_json(std::string_view text, int depth_limit = 64);

}  // namespace scavenger
