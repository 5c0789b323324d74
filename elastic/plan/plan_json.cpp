#include <nlohmann/json.hpp>

#include "elastic/events/json_number.h"
#include "elastic/plan/plan_notes.h"
#include "elastic/plan/plan_output.h"
#include "runtime/base/json_text.h"

namespace scavenger::elastic {
namespace {

using json = nlohmann::ordered_json;
using perfmodel::Estimate;

json estimate_json(const Estimate& estimate) {
  return {{"value", number_or_null(estimate.value)},
          {"standard_error", number_or_null(estimate.standard_error)},
          {"low", number_or_null(estimate.low)},
          {"high", number_or_null(estimate.high)}};
}

json optional_json(const std::optional<double>& value) {
  return value ? number_or_null(*value) : json(nullptr);
}

json machines_json(const perfmodel::PlanRow& row) {
  json list = json::array();
  for (std::size_t i = 0; i < row.machines.size(); ++i)
    list.push_back({{"type", row.machines[i].type},
                    {"count", row.machines[i].workers},
                    {"share", number_or_null(row.shares[i])}});
  return list;
}

json row_json(const perfmodel::PlanRow& row) {
  const perfmodel::JobPrediction& p = row.prediction;
  return {{"workers", p.configuration.workers},
          {"batch_size", p.configuration.global_batch},
          {"epochs", estimate_json(p.epochs)},
          {"iterations", number_or_null(p.iterations)},
          {"iteration_seconds", estimate_json(p.iteration_seconds)},
          {"samples_per_second", estimate_json(row.samples_per_second)},
          {"efficiency", estimate_json(row.efficiency)},
          {"seconds", estimate_json(p.seconds)},
          {"cost", estimate_json(p.cost)},
          {"machines", machines_json(row)},
          {"measured", row.is_measured},
          {"extrapolated", p.extrapolated},
          {"pareto", row.is_pareto},
          {"knee", row.is_knee},
          {"chosen", row.is_chosen},
          {"actual_iteration_seconds", optional_json(row.actual_iteration_seconds)},
          {"actual_epochs", optional_json(row.actual_epochs)},
          {"actual_seconds", optional_json(row.actual_seconds)}};
}

json decision_json(const perfmodel::Plan& plan) {
  if (plan.decision.choice) {
    const auto& choice = *plan.decision.choice;
    const auto& configuration = plan.rows[choice.index].prediction.configuration;
    return {{"workers", configuration.workers},
            {"batch_size", configuration.global_batch},
            {"reason", choice.reason}};
  }
  const auto& infeasible = *plan.decision.infeasible;
  const auto& nearest = plan.rows[infeasible.nearest].prediction.configuration;
  return {{"infeasible", infeasible.message},
          {"binding", infeasible.binding},
          {"nearest_workers", nearest.workers},
          {"nearest_batch_size", nearest.global_batch}};
}

}  // namespace

std::string plan_json(const perfmodel::Plan& plan, const PlanSource& source) {
  json scores = json::array(), rows = json::array();
  for (const perfmodel::ScoredForm& score : plan.statistical_scores)
    scores.push_back({{"form", perfmodel::name_of(score.form)},
                      {"held_out_error", number_or_null(score.held_out_error)}});
  for (const perfmodel::PlanRow& row : plan.rows) rows.push_back(row_json(row));
  const json document = {
      {"schema_version", 1},
      {"title", source.title},
      {"details", source.details},
      {"notes", source.notes},
      {"policy", name_of(plan.policy)},
      {"decision", decision_json(plan)},
      {"warnings", choice_warnings(plan)},
      {"unit_notes", unit_notes(plan)},
      {"basis", perfmodel::name_of(plan.basis)},
      {"time_unit", time_unit_text(plan)},
      {"cost_unit", cost_unit_text(plan)},
      {"price_is_assumed", plan.price_is_assumed},
      {"limits_not_compared", plan.limits_not_compared},
      {"efficiency_workers", number_or_null(plan.efficiency_workers)},
      {"relative", plan.relative},
      {"reference_batch", number_or_null(plan.reference_batch)},
      {"time_model",
       {{"form", plan.time_form},
        {"observations", plan.time_points},
        {"error_scale", number_or_null(plan.time_error_scale)},
        {"fit_lowest_error", number_or_null(plan.fit_errors.lowest)},
        {"fit_highest_error", number_or_null(plan.fit_errors.highest)},
        {"fit_is_bad", plan.fit_errors.is_bad()},
        {"held_out", plan.iteration_seconds.points},
        {"held_out_mean_error", number_or_null(plan.iteration_seconds.mean)},
        {"held_out_largest_error", number_or_null(plan.iteration_seconds.largest)}}},
      {"statistical_model",
       {{"form", plan.basis == perfmodel::PlanBasis::kEpoch
                     ? json(nullptr)
                     : json(perfmodel::name_of(plan.statistical_form))},
        {"coefficients", plan.statistical_coefficients},
        {"runs", plan.epoch_points},
        {"noise_observations", plan.noise_points},
        {"scores", std::move(scores)}}},
      {"rows", std::move(rows)}};
  return json_text(document, {.indent = 1}) + "\n";
}

}  // namespace scavenger::elastic
