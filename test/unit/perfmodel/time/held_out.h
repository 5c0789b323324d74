// Predictions of measurements that a time model was not given, on every table at hand: what
// intervals are calibrated and judged by.
#pragma once

#include <string>
#include <vector>

#include "perfmodel/time/time_model.h"
#include "test/unit/perfmodel/time/more_tables.h"

namespace scavenger::perfmodel {

struct HeldOut {
  std::string table;
  std::string source;
  double weight = 0.0;     // 1 / predictions of its table with the same way of choosing
  double log_error = 0.0;  // ln(measured / predicted)
  PointErrors errors;
  double left_out_square = 0.0;
  double spare_observations = 0.0;
  // Half the interval of ln(seconds) that the fit's own errors give, without time_interval.h: what
  // intervals were before.
  double reach_of_fit = 0.0;
};

// Fits each table from its four corners, from six (smallest and largest batch at the fewest, the
// second fewest and the most workers), from nine points chosen by next_candidate() (tables of more
// than twelve rows), and with each row left out in turn (tables of at most thirty rows).
std::vector<HeldOut> hold_out(const std::vector<TimeTable>& tables);

// Half of the 95 % interval of ln(seconds).
double reach(const HeldOut& held_out, const IntervalErrors& errors);

}  // namespace scavenger::perfmodel
