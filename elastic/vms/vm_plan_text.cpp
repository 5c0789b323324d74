#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "elastic/vms/vm_plan.h"
#include "elastic/vms/vm_words.h"
#include "runtime/base/json_text.h"

namespace scavenger::elastic {
namespace {

std::string spread_text(const perfmodel::Quantiles& q, bool is_time) {
  const auto text = [is_time](double x) {
    return is_time ? vm_duration_text(x) : fmt::format("${:.3g}", x);
  };
  return fmt::format("{} / {} / {}", text(q.q10), text(q.q50), text(q.q90));
}

std::string type_text(const VmRow& row) {
  std::vector<std::string> names;
  for (const VmGroup& group : row.groups)
    names.push_back(row.is_mix() ? fmt::format("{:.0f} {}", group.vms, group.type) : group.type);
  return fmt::format("{}", fmt::join(names, " + "));
}

std::string row_text(const VmRow& row, const perfmodel::OutcomeLimits& limits) {
  return fmt::format("{:24} {:>4.0f} {:>7.0f} {:>5} {:>28} {:>28} {:>8} {:>8}  {}\n",
                     type_text(row), row.vms(), row.batch,
                     row.spot_share() > 0.0 ? fmt::format("{:.0f} %", 100.0 * row.spot_share())
                                            : std::string("no"),
                     spread_text(row.outcome.seconds, true), spread_text(row.outcome.cost, false),
                     vm_probability_text(row.outcome.within_time, limits.max_seconds),
                     vm_probability_text(row.outcome.within_cost, limits.max_cost),
                     name_of(row.evidence));
}

// Null: there is no such limit.
nlohmann::json probability_json(double probability, bool is_limited) {
  return is_limited ? nlohmann::json(probability) : nlohmann::json();
}

nlohmann::json json_of(const perfmodel::Quantiles& q) {
  return {{"q10", q.q10}, {"q50", q.q50}, {"q90", q.q90}};
}

nlohmann::json json_of(const VmGroup& group) {
  return {{"type", group.type},
          {"vms", group.vms},
          {"spot", group.spot},
          {"share", group.share},
          {"price_per_hour", group.price_per_hour}};
}

nlohmann::json json_of(const VmRow& row, const perfmodel::OutcomeLimits& limits) {
  nlohmann::json document = {{"type", row.base().type},
                             {"vms", row.vms()},
                             {"batch_size", row.batch},
                             {"spot", row.spot_share() > 0.0},
                             {"spot_share", row.spot_share()},
                             {"groups", nlohmann::json::array()},
                             {"price_per_hour", row.price_per_hour},
                             {"iteration_seconds", row.iteration_seconds},
                             {"seconds", json_of(row.outcome.seconds)},
                             {"cost", json_of(row.outcome.cost)},
                             {"losses", row.outcome.losses},
                             {"evidence", name_of(row.evidence)}};
  const bool has_time = limits.max_seconds.has_value(), has_cost = limits.max_cost.has_value();
  document["probability_max_time"] = probability_json(row.outcome.within_time, has_time);
  document["probability_max_cost"] = probability_json(row.outcome.within_cost, has_cost);
  document["probability_both"] = probability_json(row.outcome.within_both, has_time || has_cost);
  for (const VmGroup& group : row.groups) document["groups"].push_back(json_of(group));
  if (row.guard)
    document["deadline_guard"] = {{"slack_seconds", row.guard->slack_seconds},
                                  {"on_demand_cost_q90", row.guard->on_demand_cost}};
  return document;
}

}  // namespace

std::string vm_duration_text(double seconds) {
  if (seconds < 1.0) return fmt::format("{:.3g} ms", 1e3 * seconds);
  if (seconds < 10.0) return fmt::format("{:.2g} s", seconds);
  if (seconds < 120.0) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return fmt::format("{:.1f} h", seconds / 3600.0);
}

std::string vm_probability_text(double probability, const std::optional<double>& limit) {
  return limit ? fmt::format("{:.0f} %", 100.0 * probability) : "-";
}

std::vector<std::string> vm_decision_lines(const VmPlan& plan) {
  if (!plan.choice) {
    const VmRow& near = plan.rows[*plan.nearest];
    return {fmt::format("Nothing keeps the limits with a probability of {:.0f} %; {} stands in the "
                        "way.",
                        100.0 * plan.confidence, fmt::join(plan.binding, " with ")),
            fmt::format("Nearest: {}, which keeps them with {:.0f} %.", name_text(near),
                        100.0 * near.outcome.within_both)};
  }
  const VmRow& choice = plan.rows[*plan.choice];
  std::vector<std::string> lines = {
      fmt::format("Choice ({}): {}", name_of(plan.policy), name_text(choice))};
  if (choice.guard)
    lines.push_back(
        choice.guard->slack_seconds > 0.0
            ? fmt::format("Deadline: if it stands still for {} in all, go on with on-demand "
                          "machines; the whole job on those costs ${:.3g} at most (90 %).",
                          vm_duration_text(choice.guard->slack_seconds),
                          choice.guard->on_demand_cost)
            : "Deadline: on-demand machines would not keep the limit with 90 % either, so nothing "
              "can make up for lost machines.");
  for (std::size_t i = 0; i < plan.fallbacks.size(); ++i)
    lines.push_back(fmt::format(
        "{}: {}",
        i == 0 ? std::string("Runner-up") : fmt::format("Fall-back {}, if those cannot be had", i),
        name_text(plan.rows[plan.fallbacks[i]])));
  lines.push_back(
      plan.probe
          ? fmt::format("Next probe: train on one {} for a few minutes; it costs ${:.2g} and is "
                        "expected to gain {:.0f} %.",
                        plan.rows[plan.probe->row].base().type, plan.probe->dollars,
                        100.0 * plan.probe->gain)
          : "No probe is expected to repay itself.");
  return lines;
}

std::string vm_plan_text(const VmPlan& plan, const std::string& title) {
  constexpr std::size_t kMostRows = 20;
  std::string text =
      fmt::format("{}: time and cost are {}, as 10 / 50 / 90 % quantiles\n\n", title,
                  perfmodel::unit_text(plan.basis, "of the job", plan.reference_batch));
  text += fmt::format("{:24} {:>4} {:>7} {:>5} {:>28} {:>28} {:>8} {:>8}  {}\n", "type", "VMs", "B",
                      "spot", "time", "cost", "P(time)", "P(cost)", "evidence");
  for (std::size_t i = 0; i < std::min(plan.rows.size(), kMostRows); ++i)
    text += row_text(plan.rows[i], plan.limits);
  if (plan.rows.size() > kMostRows)
    text += fmt::format("... and {} more (--json has them)\n", plan.rows.size() - kMostRows);
  text += "\n";
  for (const std::string& line : vm_decision_lines(plan)) text += line + "\n";
  if (!plan.pruned.empty())
    text += fmt::format("Left out: {} types, such as {}: {} (--json has all).\n",
                        plan.pruned.size(), plan.pruned.front().type, plan.pruned.front().why);
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
                             {"fallbacks", plan.fallbacks},
                             {"pruned", nlohmann::json::array()},
                             {"rows", nlohmann::json::array()}};
  for (const VmRow& row : plan.rows) document["rows"].push_back(json_of(row, plan.limits));
  for (const PrunedType& one : plan.pruned)
    document["pruned"].push_back({{"type", one.type}, {"why", one.why}});
  if (plan.choice) document["choice"] = *plan.choice;
  if (!plan.fallbacks.empty()) document["runner_up"] = plan.fallbacks.front();
  if (plan.probe)
    document["next_probe"] = {{"row", plan.probe->row},
                              {"cost", plan.probe->dollars},
                              {"expected_gain", plan.probe->gain}};
  if (plan.nearest)
    document["infeasible"] = {{"binding", plan.binding}, {"nearest", *plan.nearest}};
  return json_text(document, {.indent = 2, .broken_utf8 = BrokenUtf8::kReplace}) + "\n";
}

}  // namespace scavenger::elastic
