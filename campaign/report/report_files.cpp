#include "campaign/report/report_files.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "campaign/report/report_document.h"
#include "campaign/report/report_page.h"
#include "campaign/run/simulation_store.h"
#include "campaign/run/surrogate_folder.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::campaign {
namespace {

constexpr std::size_t kMostProfiles = 24;  // that a page shows

// Of one that is in the middle of being trained, or whose files are damaged, nothing is drawn.
std::optional<LoadedSurrogate> surrogate_of(const CampaignFolder& folder,
                                            const CampaignConfig& config) {
  if (!config.surrogate || !has_surrogate(folder)) return std::nullopt;
  try {
    return load_surrogate(folder, config);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The prediction for a point of the holdout, cut into the columns of the profile.
std::optional<Profile> predicted_at(const LoadedSurrogate& loaded, const Space& space,
                                    PointIndex point, const Profile& simulated) {
  const std::size_t rows = loaded.places.rows();
  const auto& holdout = loaded.current.holdout;
  if (std::ranges::find(holdout, point) == holdout.end() || simulated.x.size() != rows)
    return std::nullopt;
  const surrogate::Prediction prediction = loaded.surrogate.predict(space.values_at(point));
  Profile profile{simulated.x, {}, {}};
  for (std::size_t begin = 0; begin < prediction.profile.size(); begin += rows) {
    const auto cut = [&](const std::vector<double>& all) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
      return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(rows));
    };
    profile.y.push_back(cut(prediction.profile));
    profile.errors.push_back(cut(prediction.sigma));
  }
  return profile;
}

std::vector<DrawnProfile> profiles_of(const CampaignFolder& folder, const CampaignConfig& config,
                                      const Json& document) {
  std::vector<DrawnProfile> profiles;
  if (!config.simulation.result.profile) return profiles;
  const Space space(config.space);
  const SimulationStore store(folder.path);
  const std::optional<LoadedSurrogate> loaded = surrogate_of(folder, config);
  for (const Json& simulation : document.at("simulations")) {
    if (simulation.at("state") != "done" || profiles.size() == kMostProfiles) continue;
    const PointIndex point = simulation.at("point");
    try {
      Profile simulated = read_profile(store.result_of(point), *config.simulation.result.profile);
      std::optional<Profile> predicted;
      if (loaded) predicted = predicted_at(*loaded, space, point, simulated);
      profiles.push_back({space.text_at(point), std::move(simulated), std::move(predicted)});
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
