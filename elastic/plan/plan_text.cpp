#include <fmt/format.h>

#include <cmath>

#include "elastic/plan/plan_output.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

using perfmodel::Estimate;
using perfmodel::Plan;
using perfmodel::PlanRow;

// Half of the 95 % interval, in per cent of the value.
std::string reach(const Estimate& estimate) {
  const double half = 50.0 * (estimate.high - estimate.low) / estimate.value;
  return std::isfinite(half) && half < 1000.0 ? fmt::format("{:.0f}%", half) : "-";
}

std::string time_text(const Plan& plan, double seconds) {
  return plan.relative ? fmt::format("{:.3g}", seconds) : format_duration(seconds);
}

std::string iteration_text(double seconds) {
  return seconds < 1.0 ? fmt::format("{:.4g} ms", 1e3 * seconds) : fmt::format("{:.4g} s", seconds);
}

// "+3.1%": predicted against actual.
std::string against(double predicted, const std::optional<double>& actual) {
  return actual ? fmt::format("{:+.1f}%", 100.0 * (predicted / *actual - 1.0)) : "";
}

// "2 small b 20, 1 large b 88".
std::string machines_text(const PlanRow& row) {
  std::string text;
  for (std::size_t i = 0; i < row.machines.size(); ++i)
    text += fmt::format("{}{} {} b {:.0f}", i == 0 ? "" : ", ", row.machines[i].workers,
                        row.machines[i].type, row.shares[i]);
  return text;
}

std::string marks(const PlanRow& row) {
  std::string text;
  if (!row.machines.empty()) text += " " + machines_text(row) + ";";
  if (row.is_chosen) text += " <= chosen";
  if (row.is_knee) text += " knee";
  if (row.is_pareto) text += " pareto";
  if (row.prediction.extrapolated) text += " extrapolated";
  return text.empty() ? text : text.substr(1);
}

std::string row_text(const Plan& plan, const PlanRow& row) {
  const perfmodel::JobPrediction& p = row.prediction;
  return fmt::format(
      "{:>4.0f} {:>6.0f} {:>9.3g} {:>6} {:>10.0f} {:>11} {:>6} {:>13} {:>6} {:>10} "
      "{:>8} {:>8} {:>8}  {}\n",
      p.configuration.workers, p.configuration.global_batch, p.epochs.value, reach(p.epochs),
      p.iterations, iteration_text(p.iteration_seconds.value), reach(p.iteration_seconds),
      time_text(plan, p.seconds.value), reach(p.seconds), fmt::format("{:.4g}", p.cost.value),
      against(p.iteration_seconds.value, row.actual_iteration_seconds),
      against(p.epochs.value, row.actual_epochs), against(p.seconds.value, row.actual_seconds),
      marks(row));
}

std::string models_text(const Plan& plan) {
  std::string text = fmt::format("seconds per iteration: {}, from {} configurations",
                                 plan.time_form, plan.time_points);
  if (plan.iteration_seconds.points > 0)
    text +=
        fmt::format("; each held out once: mean error {:.1f}%, largest {:.1f}%",
                    100.0 * plan.iteration_seconds.mean, 100.0 * plan.iteration_seconds.largest);
  text +=
      fmt::format("\nepochs: {}, from {} runs and noise at {} batch sizes",
                  perfmodel::name_of(plan.statistical_form), plan.epoch_points, plan.noise_points);
  for (std::size_t i = 0; i < plan.statistical_scores.size(); ++i)
    text += fmt::format("{} {} {:.1f}%", i == 0 ? "; error on held-out batch sizes:" : ",",
                        perfmodel::name_of(plan.statistical_scores[i].form),
                        100.0 * plan.statistical_scores[i].held_out_error);
  if (plan.statistical_scores.empty()) text += "; nothing could be held out";
  return text + "\n";
}

}  // namespace

std::string plan_text(const Plan& plan, const PlanSource& source) {
  std::string text = source.title + "\n";
  if (!source.details.empty()) text += source.details + "\n";
  text += models_text(plan);
  if (plan.relative)
    text += fmt::format(
        "Nothing is known of the absolute number of epochs: epochs, times and costs "
        "are relative, 1 at B = {:.0f}.\n",
        plan.reference_batch);
  text += fmt::format(
      "\n{:>4} {:>6} {:>9} {:>6} {:>10} {:>11} {:>6} {:>13} {:>6} {:>10} {:>8} "
      "{:>8} {:>8}\n",
      "K", "B", "epochs", "+-", "iterations", "s/iteration", "+-", "time", "+-", "cost $", "s/it.",
      "epochs", "time");
  text += fmt::format("{:>100} {:>8} {:>8} {:>8}\n", "", "- predicted", "/ actual", "-");
  for (const PlanRow& row : plan.rows) text += row_text(plan, row);
  text += "\n";
  if (plan.decision.choice) {
    const perfmodel::JobPrediction& p = plan.rows[plan.decision.choice->index].prediction;
    text +=
        fmt::format("{}: K = {}, B = {}: {}, ${:.4g} ({})\n", perfmodel::name_of(plan.policy),
                    p.configuration.workers, p.configuration.global_batch,
                    time_text(plan, p.seconds.value), p.cost.value, plan.decision.choice->reason);
  } else {
    text += plan.decision.infeasible->message + "\n";
  }
  for (const std::string& note : source.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace scavenger::elastic
