#include "campaign/report/report_files.h"

#include <vector>

#include "campaign/report/report_document.h"
#include "campaign/report/report_page.h"
#include "campaign/run/simulation_store.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::campaign {
namespace {

constexpr std::size_t kMostProfiles = 24;  // that a page shows

std::vector<DrawnProfile> profiles_of(const CampaignFolder& folder, const CampaignConfig& config,
                                      const Json& document) {
  std::vector<DrawnProfile> profiles;
  if (!config.simulation.result.profile) return profiles;
  const Space space(config.space);
  const SimulationStore store(folder.path);
  for (const Json& simulation : document.at("simulations")) {
    if (simulation.at("state") != "done" || profiles.size() == kMostProfiles) continue;
    const PointIndex point = simulation.at("point");
    try {
      profiles.push_back({space.text_at(point),
                          read_profile(store.result_of(point), *config.simulation.result.profile)});
    } catch (const DataError&) {  // somebody has changed the result: it is not drawn
    }
  }
  return profiles;
}

}  // namespace

void write_report_document(const CampaignFolder& folder, const Campaign& campaign, double seconds) {
  write_file_atomically(folder.report(),
                        json_text(report_document(campaign, seconds),
                                  {.indent = 1, .broken_utf8 = BrokenUtf8::kReplace}) +
                            "\n");
}

void write_report_page(const CampaignFolder& folder, const Campaign& campaign, double seconds,
                       const std::filesystem::path& page) {
  const Json document = report_document(campaign, seconds);
  const auto& columns = campaign.config().simulation.result.profile;
  write_file_atomically(page, report_page(document, columns ? &*columns : nullptr,
                                          profiles_of(folder, campaign.config(), document)));
}

}  // namespace scavenger::campaign
