#include "campaign/run/campaign_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "campaign/reader/campaign_config_file.h"
#include "campaign/run/machine_source.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/text.h"
#include "runtime/process/new_run_folder.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

bool is_within(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(path, error), outer = fs::canonical(folder, error);
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

// They are sent to machines, each in one piece.
void check_size(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error || bytes <= kMostFileBytes) return;
  throw InputError({.what = fmt::format("the file has {}, and an input may have {}",
                                        format_bytes(bytes), format_bytes(kMostFileBytes)),
                    .where = "simulation.files: " + file.string(),
                    .remedy = "make it smaller, or put it on the machines by other means"});
}

// Throws InputError if one cannot be copied into the run folder and sent.
void check_input(const fs::path& input, const fs::path& run_folder) {
  const auto refuse = [&](const char* what, const char* remedy) {
    throw InputError(
        {.what = what, .where = "simulation.files: " + input.string(), .remedy = remedy});
  };
  if (fs::is_regular_file(input)) return check_size(input);
  if (!fs::is_directory(input))
    refuse("it is neither a file nor a folder", "name a file or a folder");
  if (is_within(run_folder, input))
    refuse("the folder would contain the run folder, which has a copy of it",
           "name the files that a simulation needs, or give --run another folder");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(input))
    if (entry.is_regular_file()) check_size(entry.path());
}

void check_inputs(const CampaignConfig& config, const fs::path& run_folder) {
  for (const fs::path& input : config.simulation.files) {
    try {
      check_input(input, run_folder);
    } catch (const fs::filesystem_error& error) {
      throw InputError({.what = error.code().message(),
                        .where = "simulation.files: " + error.path1().string(),
                        .remedy = "make it readable, or leave it out"});
    }
  }
}

// A folder that is not finished does not stay, unless it was there before.
void copy_files(const CampaignConfig& config, const CampaignFolder& folder, bool was_there) {
  std::error_code error, ignored;
  fs::create_directories(folder.files(), error);
  for (const fs::path& file : config.simulation.files) {
    const fs::path copy = folder.files() / file.filename();
    if (!error) fs::copy(file, copy, fs::copy_options::recursive, error);
    if (!error) continue;
    fs::remove_all(folder.files(), ignored);
    fs::remove(folder.logs(), ignored);
    if (!was_there) fs::remove(folder.path, ignored);
    refuse_run_folder(copy, error.message());
  }
}

// The identity that its first process has logged; empty in logs of older versions.
std::string logged_identity(std::string_view log) {
  const std::size_t end = log.find('\n');
  if (end == std::string_view::npos) return {};
  try {
    return parse_json(log.substr(0, end)).at("of").value("identity", std::string());
  } catch (const nlohmann::json::exception&) {
    return {};  // the replay says what is wrong with the line
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
         .remedy = is_one ? "go on with it by --resume " + shell_quoted(wanted.string()) +
                                ", or give --run another folder"
                          : "give --run another folder"});
  }
  const bool was_there = !wanted.empty() && fs::exists(wanted, error);
  check_inputs(config, fs::absolute(wanted.empty() ? "runs" : wanted));
  CampaignFolder folder{
      fs::absolute(wanted.empty() ? make_free_run_folder(config.name) : wanted).lexically_normal()};
  fs::create_directories(folder.logs(), error);
  if (error) refuse_run_folder(folder.path, error.message());
  copy_files(config, folder, was_there);
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

// As the file has them: a later version may have more keys with defaults.
std::string identity_of(const CampaignFolder& folder) {
  const nlohmann::json all = parse_json(read_file(folder.config()));
  nlohmann::json part;
  for (const char* key : {"seed", "space", "selection", "simulation"})
    if (all.contains(key)) part[key] = all[key];
  return sha256_hex(json_text(part));
}

ReplayedLog replay(const CampaignFolder& folder) {
  const CampaignConfig config = config_of(folder);
  const std::string log = read_file(folder.log(), UINT64_MAX);
  const std::string identity = logged_identity(log);
  if (!identity.empty() && identity != identity_of(folder))
    throw InputError({.what = "its seed, space, selection or simulation has been edited since the "
                              "campaign began, and would not be that of its results",
                      .where = folder.config().string(),
                      .remedy = "put it back as it was, or begin a new campaign"});
  CampaignPlan plan{config, catalogue_of(config, 1), wall_seconds_of(config)};
  return replay_log(std::move(plan), log, folder.log().string());
}

void require_inputs(const CampaignFolder& folder, const CampaignConfig& config) {
  for (const fs::path& input : config.simulation.files) {
    std::error_code error;
    if (fs::exists(folder.files() / input.filename(), error)) continue;
    throw InputError({.what = "an input of the simulations is gone",
                      .where = (folder.files() / input.filename()).string(),
                      .remedy = "put it back: it is a copy of " + input.string()});
  }
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
  struct stat status {};
  if (::fstat(file_.get(), &status) == 0 && status.st_nlink == 0)
    throw SystemError({.what = "the log was removed, and without it nothing can be resumed",
                       .where = path_.string(),
                       .remedy = "leave it where it is until the campaign has ended"});
  if (count == static_cast<ssize_t>(text.size())) return;
  throw SystemError({.what = fmt::format("cannot write the log: {}",
                                         count < 0 ? std::strerror(errno) : "the disk is full"),
                     .where = path_.string(),
                     .remedy = "make room on the disk, and resume the campaign"});
}

}  // namespace scavenger::campaign
