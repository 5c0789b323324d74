// Converts a JSON document to a checked CampaignConfig, and back.
//
// The document's structure is configs/campaign.schema.json, whose part `provider` is that of
// configs/scavenger.schema.json; both are built into the program. Every fault is one ConfigError
// with the file, the line, the key and the remedy. Thread-safe.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "campaign/config/campaign_config.h"
#include "runtime/schema/json.h"

namespace scavenger::campaign {

// Reads the configuration at `path` with overrides as of scavenger-train's --set. Paths in it are
// relative to its folder. Throws ConfigError, also if one of simulation.files is missing.
CampaignConfig load_campaign_config(const std::filesystem::path& path,
                                    std::span<const std::string> overrides = {});

// The complete document, which parse_campaign_config() reads again to the same CampaignConfig.
Json to_json(const CampaignConfig& config);

// `where` names the text in errors. Does not look for files.
CampaignConfig parse_campaign_config(const std::string& text, const std::string& where);

}  // namespace scavenger::campaign
