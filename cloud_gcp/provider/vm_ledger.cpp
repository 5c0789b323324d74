#include "cloud_gcp/provider/vm_ledger.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cloud_gcp/api/json_text.h"

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
    : journal_(file_in(folder), job_name) {
  for (const json& line : journal_.earlier()) {
    const auto step = std::find(kSteps.begin(), kSteps.end(), text_in(line, "step"));
    const std::string vm = text_in(line, "vm"), zone = text_in(line, "zone");
    if (step == kSteps.end() || vm.empty() || zone.empty()) continue;
    entries_[vm] = {vm, zone, static_cast<VmStep>(step - kSteps.begin())};
  }
}

void VmLedger::note(const std::string& vm, const std::string& zone, VmStep step,
                    const std::string& request_id) {
  json line = {{"vm", vm}, {"zone", zone}, {"step", kSteps[static_cast<std::size_t>(step)]}};
  if (!request_id.empty()) line["request_id"] = request_id;
  journal_.append(line);
  entries_[vm] = {vm, zone, step};
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
