// What a user asks a campaign's surrogate, and the answer, as text. Pure.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "campaign/config/campaign_config.h"
#include "campaign/surrogate/surrogate.h"

namespace scavenger::campaign {

// "Z=4.3, c=0.6" as values in the order of the space. Throws InputError if a parameter is missing,
// there twice, unknown or no number, or if the point is outside of the space: a surrogate does not
// extrapolate.
std::vector<double> parse_point(const CampaignConfig& config, const std::string& text);

struct PointPrediction {
  std::vector<double> point;
  std::vector<double> x;  // the places of the profile
  surrogate::Prediction prediction;
};

// CSV: a line for each of the places: the place, and the value and sigma of each column of `y`. If
// there are several points, the values of the parameters come first. Requires `result.profile`.
void write_predictions(const CampaignConfig& config, const std::vector<PointPrediction>& all,
                       std::ostream& out);

}  // namespace scavenger::campaign
