#include "runtime/base/json_text.h"

namespace scavenger {
namespace {

using nlohmann::json;

json::error_handler_t handler(BrokenUtf8 broken_utf8) {
  switch (broken_utf8) {
    case BrokenUtf8::kReplace:
      return json::error_handler_t::replace;
    case BrokenUtf8::kIgnore:
      return json::error_handler_t::ignore;
    case BrokenUtf8::kRefuse:
      break;
  }
  return json::error_handler_t::strict;
}

}  // namespace

std::string json_text(const json& document, const JsonStyle& style) {
  return document.dump(style.indent, ' ', style.ascii_only, handler(style.broken_utf8));
}

std::string json_text(const nlohmann::ordered_json& document, const JsonStyle& style) {
  return document.dump(style.indent, ' ', style.ascii_only, handler(style.broken_utf8));
}

bool json_nests_deeper(std::string_view text, int depth_limit) {
  int depth = 0;
  bool quoted = false;  // brackets within texts do not count
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > depth_limit) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

template <typename Json>
Json parse_json(std::string_view text) {
  return Json::parse(text.begin(), text.end());
}

template <typename Json>
std::optional<Json> try_parse_json(std::string_view text, int depth_limit) {
  if (json_nests_deeper(text, depth_limit)) return std::nullopt;
  Json document = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

template json parse_json(std::string_view);
template nlohmann::ordered_json parse_json(std::string_view);
template std::optional<json> try_parse_json(std::string_view, int);
template std::optional<nlohmann::ordered_json> try_parse_json(std::string_view, int);

}  // namespace scavenger
