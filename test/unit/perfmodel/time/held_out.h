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
  std::string given{};            // what the fit was given: "four corners", ...
  double weight = 0.0;            // 1 / predictions of its table with the same way of choosing
  double log_error_of_fit = 0.0;  // ln(measured / predicted) by the best form's fit alone
  double log_measured = 0.0;
  // With the shares that are shipped; with_shares() has it with others.
  StudentMixture mixture{};
  std::vector<double> log_evidences{};
  // Half the interval of ln(seconds) that the fit's own errors give, without time_interval.h: what
  // intervals were before.
  double reach_of_fit = 0.0;
};

// Fits each table from its four corners, from six (smallest and largest batch at the fewest, the
// second fewest and the most workers), from nine points chosen by next_candidate() (tables of more
// than twelve rows), and with each row left out in turn (tables of at most thirty rows).
std::vector<HeldOut> hold_out(const std::vector<TimeTable>& tables);

// Of ln(seconds), with these shares.
StudentMixture with_shares(const HeldOut& held_out, const std::vector<double>& shares);

}  // namespace scavenger::perfmodel
