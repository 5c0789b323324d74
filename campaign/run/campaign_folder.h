// The run folder of a campaign: config.json, files/, campaign.jsonl, simulations/, logs/,
// report.json, report.html.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "campaign/config/campaign_config.h"
#include "campaign/core/campaign_log.h"
#include "runtime/base/file.h"

namespace scavenger::campaign {

struct CampaignFolder {
  std::filesystem::path path;

  std::filesystem::path config() const { return path / "config.json"; }
  std::filesystem::path files() const { return path / "files"; }
  std::filesystem::path log() const { return path / "campaign.jsonl"; }
  std::filesystem::path logs() const { return path / "logs"; }
  std::filesystem::path surrogate() const { return path / "surrogate"; }
  std::filesystem::path report() const { return path / "report.json"; }
  std::filesystem::path page() const { return path / "report.html"; }
};

// Whether this is the run folder of a campaign, and not of a training job.
bool is_campaign(const std::filesystem::path& path);

// Makes the folder of a new campaign, with its configuration and copies of its input files. Empty
// `wanted`: runs/NAME, or the first free one of runs/NAME-2, ... Throws InputError if `wanted` is
// not empty or an input cannot be copied or sent, SystemError.
CampaignFolder make_campaign_folder(const CampaignConfig& config,
                                    const std::filesystem::path& wanted);
// Throws InputError if there is no campaign.
CampaignFolder open_campaign_folder(const std::filesystem::path& path);

// The configuration that the folder was made with.
CampaignConfig config_of(const CampaignFolder& folder);
// Of that which its results are results of: seed, space, selection and simulation.
std::string identity_of(const CampaignFolder& folder);
// Throws InputError if the copy of an input is not there any more.
void require_inputs(const CampaignFolder& folder, const CampaignConfig& config);
// The campaign as its log leaves it. Throws InputError if the log cannot be followed, the identity
// is not the logged one, or its provider's price list cannot be read any more.
ReplayedLog replay(const CampaignFolder& folder);

// The log that this process writes. A line that a killed process has not finished is removed.
class CampaignLog final {
 public:
  explicit CampaignLog(const std::filesystem::path& path);  // throws SystemError
  // Throws SystemError if the line is not written whole: what is not logged must not be done.
  void write(std::string_view line);

 private:
  const std::filesystem::path path_;
  FileDescriptor file_;
};

}  // namespace scavenger::campaign
