#include "runtime/schema/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/base/json_text.h"

namespace scavenger {
namespace {

std::vector<std::string> split_at_dots(std::string_view path) {
  std::vector<std::string> keys;
  for (;;) {
    const std::size_t dot = path.find('.');
    keys.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return keys;
    path.remove_prefix(dot + 1);
  }
}

bool is_index_into(const Json& list, const std::string& key) {
  constexpr std::size_t kMostDigits = 9;
  return !key.empty() && key.size() <= kMostDigits &&
         std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         std::stoul(key) < list.size();
}

// One override that is being applied to the document.
class Override final {
 public:
  Override(const std::string& text, LocatedJson& config)
      : argument_("--set " + text), config_(config) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      fail("this is not of the form key=value", "write, say, --set optimizer.learning_rate=0.05");
    keys_ = split_at_dots(std::string_view(text).substr(0, equals));
    if (std::ranges::any_of(keys_, &std::string::empty))
      fail("a key before or after a dot is empty",
           "write, say, --set optimizer.learning_rate=0.05");
    value_ = parse_value(text.substr(equals + 1));
  }

  void apply() {
    Json* parent = &config_.document;
    JsonPointer place;
    for (std::size_t i = 0; i + 1 < keys_.size(); ++i) {
      parent = &step_into(*parent, place, keys_[i]);
      place /= keys_[i];
      if (parent->is_null()) *parent = Json::object();
    }
    if (value_.is_null() && parent->is_object()) {
      parent->erase(keys_.back());
    } else {
      step_into(*parent, place, keys_.back()) = std::move(value_);
    }
    config_.places.set_override(place / keys_.back(), argument_);
  }

 private:
  [[noreturn]] void fail(std::string what, std::string remedy) const {
    throw ConfigError({.what = std::move(what), .where = argument_, .remedy = std::move(remedy)});
  }

  Json parse_value(const std::string& text) const {
    if (auto value = try_parse_json<Json>(text)) return std::move(*value);
    const std::string utf8 = json_text(Json(text), {.broken_utf8 = BrokenUtf8::kIgnore});
    if (parse_json<Json>(utf8) != text) fail("the value is not UTF-8 text", "use UTF-8");
    return text;
  }

  // Returns the member or element `key` of `container`; a new member is null.
  Json& step_into(Json& container, const JsonPointer& place, const std::string& key) const {
    if (container.is_object()) return container[key];
    if (container.is_array() && is_index_into(container, key)) return container[std::stoul(key)];
    if (container.is_array())
      fail(fmt::format("{} is a list of {}, without an item \"{}\"", dotted(place),
                       container.size(), key),
           "items are counted from 0");
    fail(fmt::format("{} is no object, so it has no \"{}\"", dotted(place), key),
         fmt::format("set {} itself", dotted(place)));
  }

  std::string argument_;
  LocatedJson& config_;
  std::vector<std::string> keys_;
  Json value_;
};

}  // namespace

void apply_overrides(std::span<const std::string> overrides, LocatedJson& config) {
  for (const std::string& text : overrides) Override(text, config).apply();
}

}  // namespace scavenger
