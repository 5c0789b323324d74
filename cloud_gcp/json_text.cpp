#include "cloud_gcp/json_text.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

constexpr int kDepthLimit = 64;

struct TooDeep {};

}  // namespace

std::optional<json> parse_object(const std::string& text) {
  const auto watch = [](int depth, json::parse_event_t, json&) {
    if (depth > kDepthLimit) throw TooDeep();
    return true;
  };
  try {
    json document = json::parse(text, watch, /*allow_exceptions=*/false);
    if (document.is_object()) return document;
  } catch (const TooDeep&) {
  }
  return std::nullopt;
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace scavenger::gcp
