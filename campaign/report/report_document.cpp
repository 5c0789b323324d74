#include "campaign/report/report_document.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "campaign/report/machine_report.h"
#include "campaign/run/simulation_command.h"
#include "runtime/base/version.h"

namespace scavenger::campaign {
namespace {

Json to_json(const Amount& amount) {
  return {{"seconds", amount.seconds},
          {"dollars", amount.dollars},
          {"on_demand_dollars", amount.on_demand_dollars}};
}

Json spent(const Campaign& campaign, double seconds) {
  const Amounts amounts = campaign.ledger().amounts(seconds);
  Json json = Json::object();
  Amount sum;
  for (const auto& [word, name] : kSpentNames) {
    const Amount& amount = amounts[static_cast<std::size_t>(word)];
    json[std::string(name)] = to_json(amount);
    sum.add(amount);
  }
  json["all"] = to_json(sum);
  return json;
}

Json simulation(const Campaign& campaign, PointIndex point, const SimulationRecord& record) {
  Json values = Json::object();
  const std::vector<double> numbers = campaign.space().values_at(point);
  for (std::size_t i = 0; i < numbers.size(); ++i) values[campaign.space().names()[i]] = numbers[i];
  const Amount cost = record.cost();
  Json json = {{"point", point},
               {"values", std::move(values)},
               {"seed", seed_of(campaign.config().seed, point)},
               {"state", name_of(record.shown_state())},
               {"is_holdout", record.is_holdout},
               {"steps", record.steps()},
               {"multiple", record.kept_multiple},
               {"segments", record.segments.size()},
               {"seconds", cost.seconds},
               {"dollars", cost.dollars},
               {"failures", record.failures}};
  if (!record.reason.empty()) json["reason"] = record.reason;
  if (!record.log_tail.empty()) json["log_tail"] = record.log_tail;
  return json;
}

// The time of N predictions and of what was simulated and trained for them, against N simulations,
// where N is the size of the space: N t_sim / (n t_sim + t_train + N t_predict). Nothing if nothing
// was simulated or trained. t_sim is that of the configured steps.
std::optional<double> speed_up(const Campaign& campaign) {
  double done = 0.0;
  double seconds = 0.0;
  for (const auto& [point, record] : campaign.simulations())
    if (record.has_result()) {
      done += record.kept_multiple;
      seconds += record.cost().seconds;
    }
  if (campaign.trainings().empty() || seconds == 0.0) return std::nullopt;
  const auto points = static_cast<double>(campaign.space().size());
  return points * seconds / done /
         (seconds + campaign.training_seconds() +
          points * campaign.trainings().back().predict_seconds);
}

Json surrogate(const Campaign& campaign) {
  Json trainings = Json::array();
  for (const event::Advised& training : campaign.trainings())
    trainings.push_back({{"results", training.results},
                         {"left_out", training.left_out},
                         {"profiles", training.profiles},
                         {"rmse", training.rmse},
                         {"most_rmse", training.most_rmse},
                         {"within", training.within},
                         {"least_within", training.least_within},
                         {"covered", training.covered},
                         {"seconds", training.seconds},
                         {"predict_seconds", training.predict_seconds}});
  Json json = {{"trainings", std::move(trainings)},
               {"failed_trainings", campaign.failed_trainings()},
               {"training_seconds", campaign.training_seconds()}};
  if (const auto factor = speed_up(campaign)) json["speed_up"] = *factor;
  return json;
}

}  // namespace

Json report_document(const Campaign& campaign, double seconds) {
  Json simulations = Json::array();
  for (const auto& [point, record] : campaign.simulations())
    simulations.push_back(simulation(campaign, point, record));
  const std::size_t points = campaign.space().size();
  Json document = {{"kind", "campaign"},
                   {"version", version()},
                   {"name", campaign.config().name},
                   {"status", campaign.status()},
                   {"reason", campaign.reason()},
                   {"seconds", seconds},
                   {"points", points},
                   {"simulated", campaign.simulations().size()},
                   {"skipped", points - campaign.simulations().size()},
                   {"done", count_of(campaign, SimulationState::kDone)},
                   {"diverged", count_of(campaign, SimulationState::kDiverged)},
                   {"failed", count_of(campaign, SimulationState::kFailed)},
                   {"machines_lost", campaign.losses()},
                   {"checkpoint_seconds", campaign.checkpoint_seconds()},
                   {"mean_life_seconds", campaign.mean_life_seconds()},
                   {"spent", spent(campaign, seconds)},
                   {"lives", lives_json(campaign, seconds)},
                   {"types", types_json(campaign)},
                   {"simulations", std::move(simulations)}};
  if (campaign.config().surrogate) document["surrogate"] = surrogate(campaign);
  return document;
}

}  // namespace scavenger::campaign
