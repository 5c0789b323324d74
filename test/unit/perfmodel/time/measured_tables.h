// The measurements of other people that lie in the developers' shared folder:
// SCAVENGER_SHARED_DATA, or beside the checkout. A user's checkout does not have them; tests that
// need them skip.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "perfmodel/time/adaptdl_model.h"
#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

// Nothing where the folder is missing (a warning is printed then).
std::filesystem::path shared_data_or_skip(const std::string& folder);

// A CSV file with a header line, column by column, as text.
std::map<std::string, std::vector<std::string>> read_csv(const std::filesystem::path& path);

// One point of the figures of the Scavenger paper.
struct FigurePoint {
  double workers = 0.0;
  double global_batch = 0.0;
  double hours = 0.0;
  double cost = 0.0;
  double plotted_predicted_cost = 0.0;
  // 0 for K = 20, which the paper shows in time and cost only.
  double normalised_noise = 0.0;
  double epochs = 0.0;
  double iteration_seconds = 0.0;
};
std::vector<FigurePoint> read_figure_points(const std::filesystem::path& folder,
                                            const std::string& model);

// Seconds per iteration of one Pollux model with one worker per node; repeated measurements of a
// configuration are averaged.
std::vector<AdaptDlObservation> read_pollux_times(const std::filesystem::path& folder);

TimeObservation to_time_observation(const AdaptDlObservation& o);

}  // namespace scavenger::perfmodel
