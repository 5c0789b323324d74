// Finds the constants of intervals (IntervalErrors) from tables that were measured, and judges them
// by tables of sources that they were not found from. docs/results/predictions.md has the table
// that this prints.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numbers>

#include "test/unit/perfmodel/time/held_out.h"
#include "test/unit/perfmodel/time/measured_tables.h"

namespace scavenger::perfmodel {
namespace {

using Predictions = std::vector<HeldOut>;

std::vector<std::string> distinct(const Predictions& all, std::string HeldOut::*name) {
  std::vector<std::string> names;
  for (const HeldOut& one : all)
    if (std::ranges::find(names, one.*name) == names.end()) names.push_back(one.*name);
  return names;
}

Predictions select(const Predictions& all, const std::function<bool(const HeldOut&)>& is_in) {
  Predictions some;
  std::ranges::copy_if(all, std::back_inserter(some), is_in);
  return some;
}

// ln of Student's density.
double log_density(double error, double variance, double degrees) {
  return std::lgamma(0.5 * (degrees + 1.0)) - std::lgamma(0.5 * degrees) -
         0.5 * std::log(degrees * std::numbers::pi * variance) -
         0.5 * (degrees + 1.0) * std::log1p(error * error / (variance * degrees));
}

double log_likelihood(const Predictions& all, const IntervalErrors& errors) {
  double sum = 0.0;
  for (const HeldOut& one : all) {
    const ErrorScale scale = error_scale_after(errors, one.left_out_square, one.spare_observations);
    const double variance =
        interval_variance(errors, scale, one.errors) + scale.square * one.errors.measurement;
    sum += one.weight * log_density(one.log_error, variance, scale.degrees);
  }
  return sum;
}

// The most likely constants, by trying factors that become smaller.
IntervalErrors calibrate(const Predictions& all) {
  constexpr std::array kFitted = {&IntervalErrors::prior_degrees, &IntervalErrors::prior_square,
                                  &IntervalErrors::batch_departure};
  IntervalErrors best;
  for (const auto constant : kFitted) best.*constant *= 1.5;  // not where they are now
  double highest = log_likelihood(all, best);
  for (double factor = 1.3; factor > 1.002;) {
    bool is_better = false;
    for (const auto constant : kFitted)
      for (const double by : {factor, 1.0 / factor}) {
        IntervalErrors trial = best;
        trial.*constant *= by;
        const double likelihood = log_likelihood(all, trial);
        if (likelihood <= highest) continue;
        highest = likelihood;
        best = trial;
        is_better = true;
      }
    if (!is_better) factor = std::sqrt(factor);
  }
  return best;
}

struct Judged {
  double points = 0.0;
  double covered = 0.0;
  double half_width = 0.0;  // relative to the value, mean
  double error = 0.0;       // |predicted / measured - 1|, mean
  double share() const { return covered / points; }
};

Judged judge(const Predictions& all, const std::function<double(const HeldOut&)>& reach_of) {
  Judged judged;
  judged.points = static_cast<double>(all.size());
  for (const HeldOut& one : all) {
    const double reach = reach_of(one);
    judged.covered += std::abs(one.log_error) <= reach ? 1.0 : 0.0;
    judged.half_width += std::sinh(reach) / judged.points;
    judged.error += std::abs(std::expm1(-one.log_error)) / judged.points;
  }
  return judged;
}

// Made once: it takes seconds.
const Predictions& held_out() {
  static const Predictions all = [] {
    std::vector<TimeTable> tables = own_tables();
    for (TimeTable& table : tables_of_others()) tables.push_back(std::move(table));
    return hold_out(tables);
  }();
  return all;
}

}  // namespace

TEST_CASE("Intervals hold on tables of sources that their constants were not found from") {
  if (shared_data_or_skip("pollux").empty() || shared_data_or_skip("srifty").empty() ||
      shared_data_or_skip("scavenger_paper").empty())
    return;
  const Predictions& all = held_out();

  double tables = 0.0, often = 0.0, often_before = 0.0;  // often: at least 90 %
  double covered = 0.0;
  fmt::print("{:<32} {:>4} {:>6} | covered, half-width before | now\n", "table", "", "error");
  for (const std::string& source : distinct(all, &HeldOut::source)) {
    const IntervalErrors constants =
        calibrate(select(all, [&](const HeldOut& one) { return one.source != source; }));
    fmt::print("without {}: {:.3g}, {:.3g}, {:.3g}\n", source, constants.prior_degrees,
               constants.prior_square, constants.batch_departure);
    const auto here = select(all, [&](const HeldOut& one) { return one.source == source; });
    for (const std::string& name : distinct(here, &HeldOut::table)) {
      const auto table = select(here, [&](const HeldOut& one) { return one.table == name; });
      const Judged before = judge(table, [](const HeldOut& one) { return one.reach_of_fit; });
      const Judged now = judge(table, [&](const HeldOut& one) { return reach(one, constants); });
      fmt::print("{:<32} {:>4} {:>5.1f}% | {:>5.1f}% {:>5.0f}% | {:>5.1f}% {:>5.0f}%\n", name,
                 now.points, 100 * now.error, 100 * before.share(), 100 * before.half_width,
                 100 * now.share(), 100 * now.half_width);
      tables += 1.0;
      often += now.share() >= 0.9 ? 1.0 : 0.0;
      often_before += before.share() >= 0.9 ? 1.0 : 0.0;
      covered += now.covered;
    }
  }

  const double points = static_cast<double>(all.size());
  CAPTURE(tables, often, often_before, covered, points);
  CHECK(covered >= 0.94 * points);
  CHECK(covered <= 0.99 * points);
  // Eight tables have a batch or a number of workers in the midst that takes a multiple of its
  // neighbours' time, two scatter by a third: docs/results/predictions.md. The fit's own errors
  // hold as often on 36 of 58.
  CHECK(tables - often <= 10.0);
}

TEST_CASE("The constants of intervals are those that all tables together suggest") {
  if (shared_data_or_skip("pollux").empty() || shared_data_or_skip("srifty").empty() ||
      shared_data_or_skip("scavenger_paper").empty())
    return;
  const IntervalErrors found = calibrate(held_out());
  const IntervalErrors shipped;
  CHECK(shipped.prior_degrees == Approx(found.prior_degrees).epsilon(0.05));
  CHECK(shipped.prior_square == Approx(found.prior_square).epsilon(0.05));
  CHECK(shipped.batch_departure == Approx(found.batch_departure).epsilon(0.05));
}

}  // namespace scavenger::perfmodel
