#include "cloud_gcp/api/json_text.h"

#include "runtime/base/json_text.h"

namespace scavenger::gcp {

using nlohmann::json;

std::optional<json> parse_object(const std::string& text) {
  std::optional<json> document = try_parse_json(text);
  return document && document->is_object() ? document : std::nullopt;
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace scavenger::gcp
