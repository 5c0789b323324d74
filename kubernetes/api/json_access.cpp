#include "kubernetes/api/json_access.h"

#include "runtime/base/json_text.h"

namespace scavenger::kubernetes {

std::optional<json> parse_object(std::string_view text) {
  std::optional<json> document = try_parse_json(text);
  return document && document->is_object() ? document : std::nullopt;
}

const json& value_at(const json& object, std::initializer_list<const char*> path) {
  static const json kNothing;
  const json* value = &object;
  for (const char* const key : path) {
    if (!value->is_object()) return kNothing;
    const auto found = value->find(key);
    if (found == value->end()) return kNothing;
    value = &*found;
  }
  return *value;
}

std::string text_at(const json& object, std::initializer_list<const char*> path) {
  const json& value = value_at(object, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

double number_at(const json& object, std::initializer_list<const char*> path, double otherwise) {
  const json& value = value_at(object, path);
  return value.is_number() ? value.get<double>() : otherwise;
}

const json& array_at(const json& object, std::initializer_list<const char*> path) {
  static const json kEmpty = json::array();
  const json& value = value_at(object, path);
  return value.is_array() ? value : kEmpty;
}

}  // namespace scavenger::kubernetes
