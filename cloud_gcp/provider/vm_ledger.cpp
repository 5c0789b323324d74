#include "cloud_gcp/provider/vm_ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cloud_gcp/api/identity.h"
#include "cloud_gcp/api/json_text.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

constexpr std::array<std::string_view, 5> kSteps = {"create", "created", "absent", "delete",
                                                    "deleted"};

}  // namespace

std::filesystem::path VmLedger::file_in(const std::filesystem::path& folder) {
  return folder / "gcp_vms.jsonl";
}

VmLedger::VmLedger(const std::filesystem::path& folder, const std::string& job_name)
    : path_(file_in(folder)) {
  std::filesystem::create_directories(folder);
  const bool is_new = !std::filesystem::exists(path_);
  if (!is_new) read(read_file(path_));
  file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file_.get() < 0)
    throw SystemError(errno, {.what = "cannot write", .where = path_, .remedy = {}});
  if (!is_new) append("");  // ends a line that a crash has cut off
  if (!job_id_.empty()) return;
  job_id_ = cloud_job_id(job_name, static_cast<std::uint32_t>(random_seed()));
  append(json_text(json{{"job", job_id_}}));
  sync_to_disk(folder);
}

void VmLedger::read(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto line = parse_object(text.substr(begin, end - begin));
    begin = end + 1;
    if (!line) continue;
    if (const std::string job = text_in(*line, "job"); !job.empty()) job_id_ = job;
    const auto step = std::find(kSteps.begin(), kSteps.end(), text_in(*line, "step"));
    const std::string vm = text_in(*line, "vm"), zone = text_in(*line, "zone");
    if (step == kSteps.end() || vm.empty() || zone.empty()) continue;
    entries_[vm] = {vm, zone, static_cast<VmStep>(step - kSteps.begin())};
  }
}

void VmLedger::note(const std::string& vm, const std::string& zone, VmStep step,
                    const std::string& request_id) {
  json line = {{"vm", vm}, {"zone", zone}, {"step", kSteps[static_cast<std::size_t>(step)]}};
  if (!request_id.empty()) line["request_id"] = request_id;
  append(json_text(line));
  entries_[vm] = {vm, zone, step};
}

void VmLedger::append(const std::string& line) {
  const std::string text = line + "\n";
  const auto written = ::write(file_.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || ::fdatasync(file_.get()) != 0)
    throw SystemError(errno, {.what = "cannot write what is asked of the cloud",
                              .where = path_,
                              .remedy = "nothing was asked; make room on this disk"});
}

std::vector<LedgerEntry> VmLedger::unsettled() const {
  std::vector<LedgerEntry> open;
  for (const auto& [vm, entry] : entries_)
    if (entry.step != VmStep::kAbsent && entry.step != VmStep::kDeleted) open.push_back(entry);
  return open;
}

std::vector<std::string> VmLedger::zones() const {
  std::vector<std::string> zones;
  for (const auto& [vm, entry] : entries_)
    if (std::find(zones.begin(), zones.end(), entry.zone) == zones.end())
      zones.push_back(entry.zone);
  return zones;
}

}  // namespace scavenger::gcp
