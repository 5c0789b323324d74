#include <fmt/format.h>

#include <cmath>

#include "elastic/plan/plan_notes.h"
#include "elastic/plan/plan_output.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

using perfmodel::Estimate;
using perfmodel::Plan;
using perfmodel::PlanBasis;
using perfmodel::PlanRow;

// Half of the 95 % interval, in per cent of the value.
std::string reach(const Estimate& estimate) {
  const double half = 50.0 * (estimate.high - estimate.low) / estimate.value;
  return std::isfinite(half) && half < 1000.0 ? fmt::format("{:.0f}%", half) : "-";
}

std::string time_text(const Plan& plan, double seconds) {
  return plan.relative ? fmt::format("{:.3g}", seconds) : format_duration(seconds);
}

// What the choice's time is of, beside its number.
std::string share_text(const Plan& plan) {
  switch (plan.basis) {
    case PlanBasis::kJob:
      break;
    case PlanBasis::kReferenceEpoch:
      return fmt::format(" s for each epoch at B = {:.0f}", plan.reference_batch);
    case PlanBasis::kEpoch:
      return " an epoch";
    case PlanBasis::kFirstRow:
      return " of the first row's time";
  }
  return "";
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

std::string job_row(const Plan& plan, const PlanRow& row) {
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

// With what times and costs are of: "seconds*" is explained above the table.
std::string job_heading(const Plan& plan) {
  const bool is_share = plan.basis != PlanBasis::kJob;
  const char* const time = plan.basis == PlanBasis::kFirstRow ? "time, 1st=1"
                           : is_share                         ? "seconds*"
                                                              : "time";
  const std::string cost = plan.basis == PlanBasis::kFirstRow ? "cost, 1st=1"
                           : plan.price_is_assumed            ? "work.h"
                                                              : "cost $";
  const char* const star = plan.basis == PlanBasis::kReferenceEpoch ? "*" : "";
  std::string text = fmt::format("{:>93}{:^26}\n", "", "predicted / actual - 1");
  return text + fmt::format(
                    "{:>4} {:>6} {:>9} {:>6} {:>10} {:>11} {:>6} {:>13} {:>6} {:>10} {:>8} {:>8} "
                    "{:>8}\n",
                    "K", "B", std::string("epochs") + star, "+-", std::string("iterations") + star,
                    "s/iteration", "+-", time, "+-", cost + star, "s/it.", "epochs", "time");
}

std::string epoch_row(const PlanRow& row) {
  const perfmodel::JobPrediction& p = row.prediction;
  return fmt::format(
      "{:>4.0f} {:>6.0f} {:>11} {:>6} {:>10.4g} {:>6} {:>10.2f} {:>6} {:>13} {:>6} {:>10.4g} {:>6} "
      "{:>18}  {}\n",
      p.configuration.workers, p.configuration.global_batch,
      iteration_text(p.iteration_seconds.value), reach(p.iteration_seconds),
      row.samples_per_second.value, reach(row.samples_per_second), row.efficiency.value,
      reach(row.efficiency), format_duration(p.seconds.value), reach(p.seconds), p.cost.value,
      reach(p.cost), against(p.iteration_seconds.value, row.actual_iteration_seconds), marks(row));
}

std::string epoch_heading(const Plan& plan) {
  return fmt::format(
      "{:>4} {:>6} {:>11} {:>6} {:>10} {:>6} {:>10} {:>6} {:>13} {:>6} {:>10} {:>6} {:>18}\n", "K",
      "B", "s/iteration", "+-", "samples/s", "+-", "efficiency", "+-", "time/epoch", "+-",
      plan.price_is_assumed ? "w.h/epoch" : "$/epoch", "+-", "predicted / actual");
}

std::string models_text(const Plan& plan) {
  std::string text = fmt::format("seconds per iteration: {}, from {} configurations",
                                 plan.time_form, plan.time_points);
  if (plan.iteration_seconds.points > 0)
    text +=
        fmt::format("; each held out once: mean error {:.1f}%, largest {:.1f}%",
                    100.0 * plan.iteration_seconds.mean, 100.0 * plan.iteration_seconds.largest);
  if (plan.basis == PlanBasis::kEpoch)
    return text + fmt::format("\nefficiency: 1 at K = {:.0f} with the same local batch\n",
                              plan.efficiency_workers);
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

std::string choice_text(const Plan& plan) {
  if (!plan.decision.choice) return plan.decision.infeasible->message + "\n";
  const perfmodel::JobPrediction& p = plan.rows[plan.decision.choice->index].prediction;
  const std::string cost =
      plan.basis == PlanBasis::kFirstRow ? fmt::format("{:.4g} of its cost", p.cost.value)
      : plan.price_is_assumed            ? fmt::format("{:.4g} worker-hours", p.cost.value)
                                         : fmt::format("${:.4g}", p.cost.value);
  return fmt::format("{}: K = {}, B = {}: {}{}, {} ({})\n", name_of(plan.policy),
                     p.configuration.workers, p.configuration.global_batch,
                     time_text(plan, p.seconds.value), share_text(plan), cost,
                     plan.decision.choice->reason);
}

}  // namespace

std::string plan_text(const Plan& plan, const PlanSource& source) {
  std::string text = source.title + "\n";
  if (!source.details.empty()) text += source.details + "\n";
  text += models_text(plan);
  for (const std::string& note : unit_notes(plan)) text += note + "\n";
  const bool is_of_an_epoch = plan.basis == PlanBasis::kEpoch;
  text += "\n" + (is_of_an_epoch ? epoch_heading(plan) : job_heading(plan));
  for (const PlanRow& row : plan.rows) text += is_of_an_epoch ? epoch_row(row) : job_row(plan, row);
  text += "\n" + choice_text(plan);
  for (const std::string& warning : choice_warnings(plan)) text += "warning: " + warning + "\n";
  for (const std::string& note : source.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace scavenger::elastic
