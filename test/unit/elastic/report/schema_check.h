// Checks a document against docs/report.schema.json: the keywords that it uses, and an error for
// any other, so that the schema cannot grow a rule that nobody checks.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace scavenger::elastic {

class SchemaCheck final {
 public:
  explicit SchemaCheck(nlohmann::json schema) : root_(std::move(schema)) {}

  // "/totals/cost: type": places and the keywords that do not hold there.
  std::vector<std::string> faults(const nlohmann::json& document) const {
    std::vector<std::string> found;
    visit(root_, document, "", found);
    return found;
  }

 private:
  using json = nlohmann::json;
  using Faults = std::vector<std::string>;

  void visit(const json& schema, const json& value, const std::string& place, Faults& found) const {
    for (const auto& [keyword, rule] : schema.items())
      if (!holds(keyword, rule, schema, value, place, found))
        found.push_back(place + ": " + keyword);
  }

  // Faults inside of the value go into `found` directly.
  bool holds(const std::string& keyword, const json& rule, const json& schema, const json& value,
             const std::string& place, Faults& found) const {
    if (keyword == "$schema" || keyword == "$defs" || keyword == "title" ||
        keyword == "description")
      return true;
    if (keyword == "$ref") {
      visit(root_.at(json::json_pointer(rule.get<std::string>().substr(1))), value, place, found);
      return true;
    }
    if (keyword == "type") return has_type(rule, value);
    if (keyword == "const") return value == rule;
    if (keyword == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (keyword == "minimum") return !value.is_number() || value >= rule;
    if (keyword == "maxItems") return !value.is_array() || value.size() <= rule;
    if (keyword == "required")
      return std::all_of(rule.begin(), rule.end(),
                         [&](const json& key) { return value.contains(key.get<std::string>()); });
    if (keyword == "additionalProperties")
      return std::all_of(value.items().begin(), value.items().end(), [&](const auto& member) {
        return schema.at("properties").contains(member.key());
      });
    return holds_inside(keyword, rule, value, place, found);
  }

  bool holds_inside(const std::string& keyword, const json& rule, const json& value,
                    const std::string& place, Faults& found) const {
    if (keyword == "anyOf")
      return std::any_of(rule.begin(), rule.end(), [&](const json& alternative) {
        Faults inside;
        visit(alternative, value, place, inside);
        return inside.empty();
      });
    if (keyword == "properties") {
      for (const auto& [key, property] : rule.items())
        if (value.contains(key)) visit(property, value.at(key), place + "/" + key, found);
      return true;
    }
    if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
        visit(rule, value[i], place + "/" + std::to_string(i), found);
      return true;
    }
    throw std::runtime_error("the schema uses a keyword that is not checked: " + keyword);
  }

  static bool has_type(const json& type, const json& value) {
    if (type.is_array())
      return std::any_of(type.begin(), type.end(),
                         [&](const json& one) { return has_type(one, value); });
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == value.type_name();
  }

  json root_;
};

}  // namespace scavenger::elastic
