#include "runtime/schema/expectation.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/json_text.h"

namespace scavenger {
namespace {

std::string join_with_or(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

bool is_whole(const Json& value) {
  if (value.is_number_integer()) return true;
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  return value.is_number_float() && std::abs(value.get<double>()) <= kLargestExact &&
         std::trunc(value.get<double>()) == value.get<double>();
}

std::string describe_range(const Json& schema) {
  const auto bound = [&](const char* key) { return json_text(schema.at(key)); };
  std::string text;
  if (schema.contains("minimum") && schema.contains("maximum"))
    text = fmt::format(" from {} to {}", bound("minimum"), bound("maximum"));
  else if (schema.contains("minimum"))
    text = fmt::format(" of at least {}", bound("minimum"));
  else if (schema.contains("exclusiveMinimum"))
    text = " above " + bound("exclusiveMinimum");
  if (schema.contains("exclusiveMinimum") && schema.contains("maximum"))
    text += " and up to " + bound("maximum");
  if (schema.contains("exclusiveMaximum")) text += " and below " + bound("exclusiveMaximum");
  if (schema.contains("multipleOf")) text += ", a multiple of " + bound("multipleOf");
  return text;
}

std::string describe_type(const std::string& type, const Json& schema) {
  if (type == "integer") return "an integer" + describe_range(schema);
  if (type == "number") return "a number" + describe_range(schema);
  if (type == "string") return schema.contains("minLength") ? "text that is not empty" : "text";
  if (type == "boolean") return "true or false";
  if (type == "array") return "a list, [ ... ]";
  SCAVENGER_CHECK(type == "object");
  return "an object, { ... }";
}

}  // namespace

bool has_type(const Json& value, const Json& type) {
  if (type.is_array()) {
    for (const Json& one : type)
      if (has_type(value, one)) return true;
    return false;
  }
  if (type == "integer") return is_whole(value);
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  SCAVENGER_CHECK(type == "object");
  return value.is_object();
}

std::string describe_value(const Json& value) {
  if (value.is_string()) return "the text " + json_text(value);
  if (value.is_number()) return "the number " + json_text(value);
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return json_text(value);
}

std::string describe_expectation(const Json& schema) {
  if (schema.contains("enum")) return list_values(schema.at("enum"));
  if (schema.contains("const")) return json_text(schema.at("const"));
  if (schema.contains("oneOf")) {
    if (schema.at("oneOf").front().contains("properties")) return "an object, { ... }";
    std::vector<std::string> words;
    for (const Json& alternative : schema.at("oneOf"))
      words.push_back(describe_expectation(alternative));
    return join_with_or(words);
  }
  const Json& type = schema.at("type");
  if (!type.is_array()) return describe_type(type, schema);
  std::vector<std::string> words;
  for (const std::string one : type) words.push_back(describe_type(one, schema));
  return join_with_or(words);
}

std::string list_values(const Json& values) {
  std::vector<std::string> words;
  for (const Json& value : values) words.push_back(json_text(value));
  return join_with_or(words);
}

}  // namespace scavenger
