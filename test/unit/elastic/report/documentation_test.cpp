// The documents name every field: a field that is added without a word about it fails here.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/file.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

using nlohmann::json;

void collect_keys(const json& value, std::set<std::string>& keys) {
  if (value.is_object())
    for (const auto& [key, member] : value.items()) keys.insert(key);
  if (value.is_structured())
    for (const json& member : value) collect_keys(member, keys);
}

std::set<std::string> undocumented(const std::set<std::string>& names, const std::string& path) {
  const std::string text = read_file(path);
  std::set<std::string> missing;
  for (const std::string& name : names)
    if (text.find("`" + name + "`") == std::string::npos) missing.insert(name);
  return missing;
}

}  // namespace

TEST_CASE("docs/events.md names every event and every field") {
  std::set<std::string> names;
  for (const RunEvent& event : one_of_each()) {
    names.insert(std::string(event_name(event)));
    collect_keys(json::parse(to_json_line({.time = 0.0, .event = event})), names);
  }

  CHECK(undocumented(names, EVENTS_DOCUMENT_PATH) == std::set<std::string>{});
}

TEST_CASE("docs/report.md names every field that is not an event's") {
  const json schema = json::parse(read_file(REPORT_SCHEMA_PATH));
  std::set<std::string> names;
  for (const auto& [key, property] : schema.at("properties").items()) {
    names.insert(key);
    if (property.contains("properties"))
      for (const auto& [inner, rule] : property.at("properties").items()) names.insert(inner);
  }
  for (const char* part : {"curve", "moments", "phase", "split", "statistics", "worker"})
    for (const auto& [key, property] : schema.at("$defs").at(part).at("properties").items())
      names.insert(key);

  CHECK(undocumented(names, REPORT_DOCUMENT_PATH) == std::set<std::string>{});
}

}  // namespace scavenger::elastic
