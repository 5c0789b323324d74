#include "campaign/run/campaign_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "campaign/reader/campaign_config_file.h"
#include "campaign/run/machine_source.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/process/new_run_folder.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

void copy_files(const CampaignConfig& config, const fs::path& place) {
  std::error_code error;
  fs::create_directories(place, error);
  for (const fs::path& file : config.simulation.files) {
    if (!error) fs::copy(file, place / file.filename(), fs::copy_options::recursive, error);
    if (error) refuse_run_folder(place / file.filename(), error.message());
  }
}

}  // namespace

bool is_campaign(const fs::path& path) {
  std::error_code error;
  return fs::exists(CampaignFolder{path}.log(), error);
}

CampaignFolder make_campaign_folder(const CampaignConfig& config, const fs::path& wanted) {
  std::error_code error;
  if (!wanted.empty() && fs::exists(wanted, error) && !fs::is_empty(wanted, error)) {
    const bool is_one = is_campaign(wanted);
    throw InputError(
        {.what = is_one ? "the folder already holds a campaign" : "the folder is not empty",
         .where = wanted.string(),
         .remedy = is_one ? "go on with it by --resume " + wanted.string() +
                                ", or give --run another folder"
                          : "give --run another folder"});
  }
  CampaignFolder folder{
      fs::absolute(wanted.empty() ? make_free_run_folder(config.name) : wanted).lexically_normal()};
  fs::create_directories(folder.logs(), error);
  if (error) refuse_run_folder(folder.path, error.message());
  copy_files(config, folder.files());
  write_file_atomically(folder.config(), json_text(to_json(config), {.indent = 2}) + "\n");
  write_file_atomically(folder.log(), "");
  return folder;
}

CampaignFolder open_campaign_folder(const fs::path& path) {
  CampaignFolder folder{fs::absolute(path).lexically_normal()};
  std::error_code error;
  if (!is_campaign(folder.path) || !fs::exists(folder.config(), error))
    throw InputError(
        {.what = "there is no campaign here: config.json or campaign.jsonl is missing",
         .where = folder.path.string(),
         .remedy = "name the run folder that scavenger-campaign printed when it started"});
  fs::create_directories(folder.logs(), error);
  return folder;
}

CampaignConfig config_of(const CampaignFolder& folder) {
  return parse_campaign_config(read_file(folder.config()), folder.config().string());
}

ReplayedLog replay(const CampaignFolder& folder) {
  const CampaignConfig config = config_of(folder);
  CampaignPlan plan{config, catalogue_of(config, 1), wall_seconds_of(config)};
  return replay_log(std::move(plan), read_file(folder.log(), UINT64_MAX), folder.log().string());
}

// ---- The log. ----

CampaignLog::CampaignLog(const fs::path& path)
    : path_(path), file_(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC)) {
  const auto fail = [&] {
    throw SystemError(errno, {.what = "cannot open the log",
                              .where = path_.string(),
                              .remedy = "make the run folder writable"});
  };
  if (file_.get() < 0) fail();
  const std::string text = read_file(path_, UINT64_MAX);
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole < text.size() && ::ftruncate(file_.get(), static_cast<off_t>(whole)) != 0) fail();
}

void CampaignLog::write(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  const ssize_t count = ::write(file_.get(), text.data(), text.size());
  if (count == static_cast<ssize_t>(text.size())) return;
  throw SystemError({.what = fmt::format("cannot write the log: {}",
                                         count < 0 ? std::strerror(errno) : "the disk is full"),
                     .where = path_.string(),
                     .remedy = "make room on the disk, and resume the campaign"});
}

}  // namespace scavenger::campaign
