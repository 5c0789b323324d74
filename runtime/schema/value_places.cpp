#include "runtime/schema/value_places.h"

#include <fmt/format.h>

#include <limits>

namespace scavenger {
namespace {

// Larger than every line number.
constexpr std::size_t kFirstOverride = std::numeric_limits<std::size_t>::max() / 2;

}  // namespace

void ValuePlaces::set_line(const JsonPointer& value, std::size_t line) {
  origins_[value.to_string()] = {.order = line, .override_argument = {}, .value = value};
}

void ValuePlaces::set_override(const JsonPointer& value, const std::string& argument) {
  const std::string below = value.to_string() + "/";
  std::erase_if(origins_, [&](const auto& entry) { return entry.first.starts_with(below); });
  origins_[value.to_string()] = {
      .order = kFirstOverride + overrides_++, .override_argument = argument, .value = value};
}

const ValuePlaces::Origin& ValuePlaces::origin_of(JsonPointer value) const {
  static const Origin kTop{.order = 1, .override_argument = {}, .value = JsonPointer()};
  for (;; value.pop_back()) {
    const auto found = origins_.find(value.to_string());
    if (found != origins_.end()) return found->second;
    if (value.empty()) return kTop;
  }
}

bool ValuePlaces::is_override(const JsonPointer& value) const {
  return !origin_of(value).override_argument.empty();
}

std::size_t ValuePlaces::order(const JsonPointer& value) const {
  return origin_of(value).order;
}

std::string ValuePlaces::describe(const JsonPointer& value) const {
  const Origin& origin = origin_of(value);
  if (origin.override_argument.empty()) {
    const std::string place = fmt::format("{}:{}", document_, origin.order);
    return value.empty() ? place : place + ": " + dotted(value);
  }
  return origin.value == value ? origin.override_argument
                               : origin.override_argument + ": " + dotted(value);
}

ConfigError ValuePlaces::error(const Violation& violation) const {
  return ConfigError(
      {.what = violation.what, .where = describe(violation.place), .remedy = violation.remedy});
}

std::string dotted(const JsonPointer& pointer) {
  std::string text;
  for (JsonPointer rest = pointer; !rest.empty(); rest.pop_back())
    text = rest.back() + (text.empty() ? "" : "." + text);
  return text;
}

}  // namespace scavenger
