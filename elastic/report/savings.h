// What a job would have cost otherwise: in configurations that people choose without a search, and
// on machines that nobody takes away. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// Spot machines against the same seconds of the same machines on demand. Dollars.
struct OnDemandSavings {
  double cost = 0.0;
  double on_demand_cost = 0.0;
};

// Nothing if no spot machine was rented.
std::optional<OnDemandSavings> savings_against_on_demand(const RunNumbers& numbers);

// What was saved, as a part of what the other would have taken: 0.25, or below 0 if it was more.
// With its 95 % interval; NaN if the predictions have none.
struct PartSaved {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

// A configuration that was not searched for, as predicted.
struct NaiveConfiguration {
  std::string_view why;  // "as configured", "the slowest", ...
  fact::PredictedConfiguration predicted;
  PartSaved seconds_saved;
  PartSaved cost_saved;
};

// Seconds and costs; if workers have no price, a worker-hour counts as a dollar.
struct NaiveSavings {
  // `seconds` and `cost` are of this run, which has reached its target, with start-up and search.
  // Else they are predictions too: of the configuration that the job trains with.
  bool is_measured = false;
  bool is_relative = false;  // all in units of the prediction's reference
  double seconds = 0.0;
  double cost = 0.0;
  fact::PredictedConfiguration used;
  // Each configuration once: as the job was configured, the slowest and the dearest of the grid,
  // then others that people take.
  std::vector<NaiveConfiguration> naive;
};

// By the last prediction; nothing if there is none, none of the configuration that the job
// trains with, or none of another. A configuration that was chosen and not moved to has saved
// nothing.
std::optional<NaiveSavings> savings_against_naive(const RunNumbers& numbers);

// What `value` is less than `other`, as a part of it: 0.25, or below 0 if it is more.
double part_saved(double value, double other);

}  // namespace scavenger::elastic
