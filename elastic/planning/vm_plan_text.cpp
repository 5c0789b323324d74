#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "elastic/planning/vm_plan.h"

namespace scavenger::elastic {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 120.0) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return fmt::format("{:.1f} h", seconds / 3600.0);
}

std::string spread_text(const perfmodel::Quantiles& q, bool is_time) {
  const auto text = [is_time](double x) {
    return is_time ? duration_text(x) : fmt::format("${:.3g}", x);
  };
  return fmt::format("{} / {} / {}", text(q.q10), text(q.q50), text(q.q90));
}

std::string name_text(const VmRow& row) {
  return fmt::format("{:.0f} x {}{}, B = {:.0f}", row.vms, row.type, row.spot ? " (spot)" : "",
                     row.batch);
}

std::string row_text(const VmRow& row) {
  return fmt::format("{:24} {:>4.0f} {:>7.0f} {:>5} {:>28} {:>28} {:>6.0f} % {:>6.0f} %  {}\n",
                     row.type, row.vms, row.batch, row.spot ? "yes" : "no",
                     spread_text(row.outcome.seconds, true), spread_text(row.outcome.cost, false),
                     100.0 * row.outcome.within_time, 100.0 * row.outcome.within_cost,
                     name_of(row.evidence));
}

std::string decision_text(const VmPlan& plan) {
  if (!plan.choice) {
    const VmRow& near = plan.rows[*plan.nearest];
    return fmt::format(
        "Nothing keeps the limits with a probability of {:.0f} %; {} stands in the way.\n"
        "Nearest: {}, which keeps them with {:.0f} %.\n",
        100.0 * plan.confidence, fmt::join(plan.binding, " with "), name_text(near),
        100.0 * near.outcome.within_both);
  }
  std::string text =
      fmt::format("Choice ({}): {}\n", name_of(plan.policy), name_text(plan.rows[*plan.choice]));
  if (plan.runner_up) text += fmt::format("Runner-up: {}\n", name_text(plan.rows[*plan.runner_up]));
  if (plan.probe)
    text += fmt::format(
        "Next probe: train on one {} for a few minutes; it costs ${:.2g} and is expected to "
        "gain {:.0f} %.\n",
        plan.rows[plan.probe->row].type, plan.probe->dollars, 100.0 * plan.probe->gain);
  else
    text += "No probe is expected to repay itself.\n";
  return text;
}

nlohmann::json json_of(const perfmodel::Quantiles& q) {
  return {{"q10", q.q10}, {"q50", q.q50}, {"q90", q.q90}};
}

nlohmann::json json_of(const VmRow& row) {
  return {{"type", row.type},
          {"vms", row.vms},
          {"batch_size", row.batch},
          {"spot", row.spot},
          {"price_per_hour", row.price_per_hour},
          {"iteration_seconds", row.iteration_seconds},
          {"seconds", json_of(row.outcome.seconds)},
          {"cost", json_of(row.outcome.cost)},
          {"losses", row.outcome.losses},
          {"probability_max_time", row.outcome.within_time},
          {"probability_max_cost", row.outcome.within_cost},
          {"probability_both", row.outcome.within_both},
          {"evidence", name_of(row.evidence)}};
}

}  // namespace

std::string vm_plan_text(const VmPlan& plan, const std::string& title) {
  constexpr std::size_t kMostRows = 20;
  std::string text =
      fmt::format("{}: time and cost are {}, as 10 / 50 / 90 % quantiles\n\n", title,
                  perfmodel::unit_text(plan.basis, "of the job", plan.reference_batch));
  text += fmt::format("{:24} {:>4} {:>7} {:>5} {:>28} {:>28} {:>8} {:>8}  {}\n", "type", "VMs", "B",
                      "spot", "time", "cost", "P(time)", "P(cost)", "evidence");
  for (std::size_t i = 0; i < std::min(plan.rows.size(), kMostRows); ++i)
    text += row_text(plan.rows[i]);
  if (plan.rows.size() > kMostRows)
    text += fmt::format("... and {} more (--json has them)\n", plan.rows.size() - kMostRows);
  text += "\n" + decision_text(plan);
  for (const std::string& note : plan.notes) text += "Note: " + note + "\n";
  return text;
}

std::string vm_plan_json(const VmPlan& plan, const std::string& title) {
  nlohmann::json document = {{"title", title},
                             {"basis", perfmodel::name_of(plan.basis)},
                             {"policy", name_of(plan.policy)},
                             {"confidence", plan.confidence},
                             {"form", plan.form},
                             {"notes", plan.notes},
                             {"rows", nlohmann::json::array()}};
  for (const VmRow& row : plan.rows) document["rows"].push_back(json_of(row));
  if (plan.choice) document["choice"] = *plan.choice;
  if (plan.runner_up) document["runner_up"] = *plan.runner_up;
  if (plan.probe)
    document["next_probe"] = {{"row", plan.probe->row},
                              {"cost", plan.probe->dollars},
                              {"expected_gain", plan.probe->gain}};
  if (plan.nearest)
    document["infeasible"] = {{"binding", plan.binding}, {"nearest", *plan.nearest}};
  return document.dump(2) + "\n";
}

}  // namespace scavenger::elastic
