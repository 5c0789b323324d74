#include "runtime/schema/schema_validator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/base/json_text.h"
#include "runtime/base/text.h"
#include "runtime/schema/expectation.h"

namespace scavenger {
namespace {

class SchemaWalk final {
 public:
  explicit SchemaWalk(const Json& root) : root_(root) {}

  // `alternatives`: all alternatives of a tagged union, of which `schema` is the selected one.
  void visit(const Json& schema, Json& value, const JsonPointer& place,
             const Json& alternatives = Json::array());
  std::vector<Violation> violations() && { return std::move(violations_); }

 private:
  const Json& resolve(const Json& schema) const;
  const Json* choose_by_tag(const Json& alternatives, const std::string& tag, const Json& value,
                            const JsonPointer& place);
  const Json* choose_by_type(const Json& schema, const Json& value, const JsonPointer& place);
  bool is_one_of_the_known(const Json& schema, const Json& value, const JsonPointer& place);
  void visit_number(const Json& schema, const Json& value, const JsonPointer& place);
  void visit_text(const Json& schema, const Json& value, const JsonPointer& place);
  void visit_list(const Json& schema, Json& value, const JsonPointer& place);
  void visit_object(const Json& schema, Json& value, const JsonPointer& place,
                    const Json& alternatives);
  void fail(const JsonPointer& place, std::string what, std::string remedy) {
    violations_.push_back({place, std::move(what), std::move(remedy)});
  }

  const Json& root_;
  std::vector<Violation> violations_;
};

const Json& SchemaWalk::resolve(const Json& schema) const {
  if (!schema.contains("$ref")) return schema;
  const std::string reference = schema.at("$ref");
  SCAVENGER_CHECK(reference.starts_with('#'));
  return resolve(root_.at(JsonPointer(reference.substr(1))));
}

// Returns the property that distinguishes the alternatives of a tagged union; "" if there is none.
std::string tag_of(const Json& alternative) {
  if (!alternative.contains("properties")) return {};
  for (const auto& [key, property] : alternative.at("properties").items())
    if (property.contains("const")) return key;
  return {};
}

// Returns the tag of the alternative that has `key`, such as `"type": "sgd"`; "" if none has it.
std::string owner_of(const std::string& key, const Json& alternatives) {
  for (const Json& alternative : alternatives)
    if (alternative.at("properties").contains(key)) {
      const std::string tag = tag_of(alternative);
      return fmt::format("\"{}\": {}", tag,
                         json_text(alternative.at("properties").at(tag).at("const")));
    }
  return {};
}

const Json* SchemaWalk::choose_by_tag(const Json& alternatives, const std::string& tag,
                                      const Json& value, const JsonPointer& place) {
  Json tags = Json::array();
  for (const Json& alternative : alternatives) {
    const Json& constant = alternative.at("properties").at(tag).at("const");
    if (value.is_object() && value.contains(tag) && value.at(tag) == constant) return &alternative;
    tags.push_back(constant);
  }
  const std::string choice = fmt::format("\"{}\": {}", tag, list_values(tags));
  if (!value.is_object()) {
    fail(place, fmt::format("{} stands where an object is needed", describe_value(value)),
         "write { " + choice + ", ... }");
  } else if (!value.contains(tag)) {
    fail(place, fmt::format("\"{}\" is missing", tag), "add " + choice);
  } else {
    is_one_of_the_known(Json{{"enum", tags}}, value.at(tag), place / tag);
  }
  return nullptr;
}

const Json* SchemaWalk::choose_by_type(const Json& schema, const Json& value,
                                       const JsonPointer& place) {
  for (const Json& alternative : schema.at("oneOf")) {
    const bool fits = alternative.contains("const") ? value == alternative.at("const")
                                                    : has_type(value, alternative.at("type"));
    if (fits) return &alternative;
  }
  fail(place, fmt::format("{} is not possible here", describe_value(value)),
       "use " + describe_expectation(schema));
  return nullptr;
}

bool SchemaWalk::is_one_of_the_known(const Json& schema, const Json& value,
                                     const JsonPointer& place) {
  const Json& known = schema.at("enum");
  if (std::find(known.begin(), known.end(), value) != known.end()) return true;
  std::string near;
  if (value.is_string())
    near = nearest_word(value.get<std::string>(), known.get<std::vector<std::string>>());
  fail(place, fmt::format("{} is not known", describe_value(value)),
       near.empty() ? "use " + list_values(known)
                    : fmt::format("did you mean \"{}\"? Use {}", near, list_values(known)));
  return false;
}

void SchemaWalk::visit_number(const Json& schema, const Json& value, const JsonPointer& place) {
  const double number = value.get<double>();
  const bool inside =
      (!schema.contains("minimum") || number >= schema.at("minimum").get<double>()) &&
      (!schema.contains("maximum") || number <= schema.at("maximum").get<double>()) &&
      (!schema.contains("exclusiveMinimum") ||
       number > schema.at("exclusiveMinimum").get<double>()) &&
      (!schema.contains("exclusiveMaximum") ||
       number < schema.at("exclusiveMaximum").get<double>());
  const bool is_multiple = !schema.contains("multipleOf") ||
                           std::fmod(number, schema.at("multipleOf").get<double>()) == 0.0;
  if (inside && is_multiple) return;
  fail(place,
       inside ? fmt::format("{} is not a multiple of {}", json_text(value),
                            json_text(schema.at("multipleOf")))
              : json_text(value) + " is out of range",
       "use " + describe_expectation(schema));
}

void SchemaWalk::visit_text(const Json& schema, const Json& value, const JsonPointer& place) {
  const std::string text = value;
  if (text.size() < schema.value("minLength", std::size_t{0}))
    fail(place, "the text is empty", "use " + describe_expectation(schema));
  if (schema.contains("maxLength") && text.size() > schema.at("maxLength")) {
    fail(place, fmt::format("the text has {} characters", text.size()),
         fmt::format("use at most {}", json_text(schema.at("maxLength"))));
  } else if (schema.contains("pattern") &&
             !std::regex_search(text, std::regex(schema.at("pattern").get<std::string>()))) {
    fail(place, fmt::format("{} has a character that cannot stand here", json_text(value)),
         schema.at("patternErrorMessage"));
  }
}

void SchemaWalk::visit_list(const Json& schema, Json& value, const JsonPointer& place) {
  if (value.size() < schema.value("minItems", std::size_t{0}))
    fail(place, fmt::format("the list has {} items", value.size()),
         fmt::format("give at least {}", json_text(schema.at("minItems"))));
  if (schema.contains("maxItems") && value.size() > schema.at("maxItems"))
    fail(place, fmt::format("the list has {} items", value.size()),
         fmt::format("give at most {}", json_text(schema.at("maxItems"))));
  for (std::size_t i = 0; i < value.size(); ++i) visit(schema.at("items"), value[i], place / i);
}

void SchemaWalk::visit_object(const Json& schema, Json& value, const JsonPointer& place,
                              const Json& alternatives) {
  if (!schema.contains("properties")) {  // any keys: labels, or an object that is passed on
    const auto kind = schema.find("additionalProperties");
    if (kind == schema.end() || !kind->is_object()) return;
    for (const auto& [key, member] : value.items()) visit(*kind, member, place / key);
    return;
  }
  const Json& properties = schema.at("properties");
  std::vector<std::string> known;
  for (const auto& [key, property] : properties.items()) known.push_back(key);

  for (const auto& [key, member] : value.items()) {
    if (properties.contains(key)) continue;
    if (const std::string owner = owner_of(key, alternatives); !owner.empty()) {
      fail(place / key, fmt::format("unknown key \"{}\"", key),
           fmt::format("it belongs to {}; the keys here are {}", owner, join_words(known)));
      continue;
    }
    const std::string near = nearest_word(key, known);
    fail(place / key, fmt::format("unknown key \"{}\"", key),
         near.empty() ? "the keys here are " + join_words(known)
                      : fmt::format("did you mean \"{}\"?", near));
  }
  for (const auto& [key, property_reference] : properties.items()) {
    const Json& property = resolve(property_reference);
    if (!value.contains(key) && property.contains("default")) value[key] = property.at("default");
    if (value.contains(key)) visit(property, value.at(key), place / key);
  }
  for (const std::string key : schema.value("required", Json::array()))
    if (!value.contains(key))
      fail(place, fmt::format("\"{}\" is missing", key),
           fmt::format("add it: {}", describe_expectation(resolve(properties.at(key)))));
}

void SchemaWalk::visit(const Json& reference, Json& value, const JsonPointer& place,
                       const Json& alternatives) {
  const Json& schema = resolve(reference);
  if (schema.contains("oneOf")) {
    const Json& choices = schema.at("oneOf");
    const std::string tag = tag_of(choices.front());
    const Json* chosen = tag.empty() ? choose_by_type(schema, value, place)
                                     : choose_by_tag(choices, tag, value, place);
    if (chosen != nullptr) visit(*chosen, value, place, tag.empty() ? Json::array() : choices);
    return;
  }
  if (schema.contains("const")) return;  // it selected this alternative
  if (schema.contains("enum")) {
    is_one_of_the_known(schema, value, place);
    return;
  }
  if (!has_type(value, schema.at("type"))) {
    fail(place, fmt::format("{} has the wrong type", describe_value(value)),
         "use " + describe_expectation(schema));
    return;
  }
  if (value.is_number_float() && schema.at("type") == "integer")
    value = static_cast<std::int64_t>(value.get<double>());
  if (value.is_number()) visit_number(schema, value, place);
  if (value.is_string()) visit_text(schema, value, place);
  if (value.is_array()) visit_list(schema, value, place);
  if (value.is_object()) visit_object(schema, value, place, alternatives);
}

}  // namespace

std::vector<Violation> apply_schema(const Json& schema, Json& document) {
  SchemaWalk walk(schema);
  walk.visit(schema, document, JsonPointer());
  return std::move(walk).violations();
}

}  // namespace scavenger
