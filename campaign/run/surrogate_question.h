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

// A line for each of the places `x`: the place, and the value and sigma of each column of `y`.
// Requires the prediction of a profile at these places.
void write_prediction(const ProfileColumns& columns, const std::vector<double>& x,
                      const surrogate::Prediction& prediction, std::ostream& out);

}  // namespace scavenger::campaign
