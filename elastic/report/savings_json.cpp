#include "elastic/report/savings_json.h"

#include <nlohmann/json.hpp>

#include "elastic/events/json_number.h"
#include "elastic/report/savings.h"

namespace scavenger::elastic {
namespace {

using json = nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json savings_json(const RunNumbers& numbers) {
  json on_demand = nullptr, naive = nullptr;
  if (const auto spot = savings_against_on_demand(numbers))
    on_demand = {{"cost", spot->on_demand_cost},
                 {"cost_saved", number_or_null(part_saved(spot->cost, spot->on_demand_cost))}};
  if (const auto saved = savings_against_naive(numbers)) {
    naive = {{"measured", saved->is_measured},
             {"relative", saved->is_relative},
             {"workers", saved->used.workers},
             {"batch_size", saved->used.batch_size},
             {"seconds", number_or_null(saved->seconds)},
             {"cost", number_or_null(saved->cost)},
             {"configurations", json::array()}};
    for (const NaiveConfiguration& one : saved->naive)
      naive["configurations"].push_back(
          {{"why", one.why},
           {"workers", one.predicted.workers},
           {"batch_size", one.predicted.batch_size},
           {"seconds", number_or_null(one.predicted.seconds)},
           {"seconds_low", number_or_null(one.predicted.seconds_low)},
           {"seconds_high", number_or_null(one.predicted.seconds_high)},
           {"cost", number_or_null(one.predicted.cost)},
           {"seconds_saved", number_or_null(one.seconds_saved.value)},
           {"seconds_saved_low", number_or_null(one.seconds_saved.low)},
           {"seconds_saved_high", number_or_null(one.seconds_saved.high)},
           {"cost_saved", number_or_null(one.cost_saved.value)},
           {"cost_saved_low", number_or_null(one.cost_saved.low)},
           {"cost_saved_high", number_or_null(one.cost_saved.high)}});
  }
  return {{"on_demand", std::move(on_demand)}, {"naive", std::move(naive)}};
}

}  // namespace scavenger::elastic
