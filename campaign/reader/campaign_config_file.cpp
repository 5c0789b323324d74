#include "campaign/reader/campaign_config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "campaign/reader/campaign_config_fields.h"
#include "campaign/reader/campaign_consistency.h"
#include "campaign/reader/campaign_schema_text.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/config/schema_text.h"
#include "runtime/schema/overrides.h"
#include "runtime/schema/schema_validator.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainingSchema = "scavenger.schema.json";

// References to the training schema become references into this one, which then has its
// definitions.
void take_over_references(Json& node) {
  if (node.is_object()) {
    for (auto& [key, member] : node.items()) {
      if (key == "$ref") {
        std::string reference = member;
        if (reference.starts_with(kTrainingSchema))
          member = reference.substr(std::string(kTrainingSchema).size());
      } else {
        take_over_references(member);
      }
    }
  } else if (node.is_array()) {
    for (Json& member : node) take_over_references(member);
  }
}

const Json& schema() {
  static const Json kSchema = [] {
    Json schema = parse_json<Json>(campaign_schema_text());
    take_over_references(schema);
    const Json training = parse_json<Json>(schema_text());
    for (const auto& [name, definition] : training.at("definitions").items())
      if (!schema.at("definitions").contains(name)) schema["definitions"][name] = definition;
    return schema;
  }();
  return kSchema;
}

// Throws the violation that comes first in the document.
void throw_first(const std::vector<Violation>& violations, const ValuePlaces& places) {
  const auto first = std::ranges::min_element(
      violations, {}, [&](const Violation& fault) { return places.order(fault.place); });
  if (first != violations.end()) throw places.error(*first);
}

CampaignConfig convert_checked(LocatedJson& located) {
  throw_first(apply_schema(schema(), located.document), located.places);
  CampaignConfig config = read_fields<CampaignConfig>(located.document);
  throw_first(find_inconsistencies(config), located.places);
  return config;
}

std::string read_config_text(const fs::path& path) {
  try {
    return read_file(path);
  } catch (const SystemError& error) {
    throw ConfigError({.what = error.problem().what,
                       .where = path.string(),
                       .remedy = "name a campaign, such as configs/electrolyte_small.json"});
  }
}

std::vector<Violation> find_missing_files(const SimulationConfig& simulation) {
  std::vector<Violation> violations;
  const auto add = [&](const std::string& place, const std::string& what, const char* remedy) {
    violations.push_back({JsonPointer(place), what, remedy});
  };
  for (std::size_t i = 0; i < simulation.files.size(); ++i) {
    std::error_code error;
    if (!fs::exists(simulation.files[i], error))
      add(fmt::format("/simulation/files/{}", i),
          fmt::format("there is no {}", simulation.files[i].string()),
          "create it, or leave it out");
  }
  for (std::size_t i = 0; i < simulation.templates.size(); ++i) {
    const auto holds = [&](const fs::path& file) {
      std::error_code error;
      return fs::is_regular_file(file.parent_path() / simulation.templates[i], error);
    };
    if (violations.empty() && std::ranges::none_of(simulation.files, holds))
      add(fmt::format("/simulation/templates/{}", i),
          "there is no such file among simulation.files",
          "name a file, or FOLDER/FILE in one of the folders");
  }
  return violations;
}

}  // namespace

CampaignConfig load_campaign_config(const fs::path& path, std::span<const std::string> overrides) {
  LocatedJson located = parse_located_json(read_config_text(path), path.string());
  apply_overrides(overrides, located);
  CampaignConfig config = convert_checked(located);
  for (std::size_t i = 0; i < config.simulation.files.size(); ++i) {
    const bool is_override =
        located.places.is_override(JsonPointer(fmt::format("/simulation/files/{}", i)));
    const fs::path folder = is_override ? fs::current_path() : fs::absolute(path).parent_path();
    fs::path file = (folder / config.simulation.files[i]).lexically_normal();
    config.simulation.files[i] = file.has_filename() ? file : file.parent_path();
  }
  throw_first(find_missing_files(config.simulation), located.places);
  return config;
}

CampaignConfig parse_campaign_config(const std::string& text, const std::string& where) {
  LocatedJson located = parse_located_json(text, where);
  return convert_checked(located);
}

Json to_json(const CampaignConfig& config) {
  return write_fields(config);
}

}  // namespace scavenger::campaign
