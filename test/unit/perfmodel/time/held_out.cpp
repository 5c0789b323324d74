#include "test/unit/perfmodel/time/held_out.h"

#include <cmath>
#include <set>

#include "perfmodel/fit/student.h"
#include "perfmodel/search/adaptive_search.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kConfidence = 0.95;

using Chosen = std::set<std::size_t>;  // rows of a table that the model is given

std::vector<Configuration> configurations_of(const TimeTable& table) {
  std::vector<Configuration> all;
  for (const TimeObservation& row : table.rows) all.push_back(row.configuration);
  return all;
}

std::vector<TimeObservation> rows_of(const TimeTable& table, const Chosen& chosen) {
  std::vector<TimeObservation> rows;
  for (const std::size_t i : chosen) rows.push_back(table.rows[i]);
  return rows;
}

Chosen four_corners(const TimeTable& table) {
  const auto corners = corner_candidates(configurations_of(table));
  return {corners.begin(), corners.end()};
}

Chosen six_corners(const TimeTable& table) {
  std::set<double> workers;
  for (const TimeObservation& row : table.rows) workers.insert(row.configuration.workers);
  Chosen chosen;
  for (const double k : {*workers.begin(), *std::next(workers.begin()), *workers.rbegin()}) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      if (table.rows[i].configuration.workers == k) rows.push_back(i);
    chosen.insert(rows.front());
    chosen.insert(rows.back());
  }
  return chosen;
}

Chosen nine_adaptive(const TimeTable& table) {
  Chosen chosen = four_corners(table);
  const auto candidates = configurations_of(table);
  while (chosen.size() < 9) {
    std::vector<bool> measured(candidates.size());
    for (const std::size_t i : chosen) measured[i] = true;
    const TimeModel model(rows_of(table, chosen));
    chosen.insert(next_candidate(model, candidates, measured).value());
  }
  return chosen;
}

std::vector<HeldOut> rest_of(const TimeTable& table, const Chosen& chosen) {
  const TimeModel model(rows_of(table, chosen));
  std::vector<HeldOut> rest;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (chosen.contains(i)) continue;
    const Configuration& at = table.rows[i].configuration;
    const double log_measured = std::log(table.rows[i].seconds);
    const double error = std::sqrt(model.log_covariance({&at, 1})(0, 0));
    rest.push_back(
        {.table = table.name,
         .source = table.source,
         .weight = 1.0,
         .log_error_of_fit = log_measured - model.best().predict_log(at),
         .log_measured = log_measured,
         .mixture = model.measured_later(at),
         .log_evidences = model.rough().log_evidences(),
         .reach_of_fit = student_quantile(kConfidence, model.best().degrees_of_freedom()) *
                         std::sqrt(error * error + model.measurement_variance())});
  }
  return rest;
}

}  // namespace

std::vector<HeldOut> hold_out(const std::vector<TimeTable>& tables) {
  std::vector<HeldOut> all;
  const auto add = [&](const char* given, std::vector<HeldOut> some) {
    for (HeldOut& one : some) {
      one.given = given;
      one.weight = 1.0 / static_cast<double>(some.size());
      all.push_back(one);
    }
  };
  for (const TimeTable& table : tables) {
    const std::size_t rows = table.rows.size();
    add("four corners", rest_of(table, four_corners(table)));
    add("six corners", rest_of(table, six_corners(table)));
    if (rows > 12) add("nine by adaptive", rest_of(table, nine_adaptive(table)));
    if (rows > 30) continue;
    std::vector<HeldOut> each;
    for (std::size_t out = 0; out < rows; ++out) {
      Chosen others;
      for (std::size_t i = 0; i < rows; ++i)
        if (i != out) others.insert(i);
      each.push_back(rest_of(table, others).front());
    }
    add("all others", std::move(each));
  }
  return all;
}

StudentMixture with_shares(const HeldOut& held_out, const std::vector<double>& shares) {
  StudentMixture mixture = held_out.mixture;
  mixture.weights = weigh_roughnesses(shares, held_out.log_evidences);
  return mixture;
}

}  // namespace scavenger::perfmodel
