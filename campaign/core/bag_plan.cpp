#include "campaign/core/bag_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "perfmodel/survival/checkpoint_rule.h"
#include "perfmodel/survival/early_hazard.h"
#include "runtime/base/text.h"

namespace scavenger::campaign {
namespace {

BagOption option_of(const CampaignConfig& config, const CatalogueEntry& entry, bool spot,
                    const MachinePrice& price, std::uint32_t machines,
                    const BagQuestion& question) {
  const double prior_seconds = config.simulation.checkpoint.mean_life_hours * 3600.0;
  const perfmodel::EarlyHazard life = perfmodel::constant_hazard({}, prior_seconds);
  BagOption option;
  option.type = entry.type;
  option.zone = entry.zone;
  option.spot = spot;
  option.machines = machines;
  option.slots = std::max(1U, static_cast<std::uint32_t>(entry.cores) / config.simulation.cores);
  const double fixed = config.simulation.checkpoint.interval_seconds;
  option.interval_seconds =
      fixed > 0.0 ? std::min(fixed, question.simulation_seconds)
                  : perfmodel::next_segment_seconds(life, 0.0, question.simulation_seconds,
                                                    {question.checkpoint_seconds, 1.0});
  const double rate = spot ? life.hazard(0.0) : 0.0;
  option.overhead = question.checkpoint_seconds / option.interval_seconds +
                    rate * (option.interval_seconds / 2.0 + question.start_seconds);
  const double each = question.simulation_seconds * (1.0 + option.overhead);
  const auto count = static_cast<double>(question.simulations);
  const double places = static_cast<double>(machines) * option.slots;
  option.seconds = question.start_seconds + std::ceil(count / places) * each;
  // Machines are returned as soon as there is nothing for them.
  const double machine_seconds =
      static_cast<double>(machines) * question.start_seconds + count * each / option.slots;
  option.losses = rate * machine_seconds;
  option.dollars = machine_seconds * price.per_hour / 3600.0;
  return option;
}

}  // namespace

std::vector<BagOption> plan_bag(const CampaignConfig& config, const MachineCatalogue& catalogue,
                                const BagQuestion& question) {
  const bool spot = config.provider.spot;
  std::vector<BagOption> options;
  for (const CatalogueEntry& entry : catalogue.entries) {
    const auto& price = spot ? entry.spot : entry.on_demand;
    if (!price || entry.cores < config.simulation.cores) continue;
    const std::uint32_t most =
        std::min(config.machines.count, entry.count.value_or(config.machines.count));
    for (std::uint32_t machines = 1; machines <= most;
         machines = machines < most ? std::min(2 * machines, most) : most + 1)
      options.push_back(option_of(config, entry, spot, *price, machines, question));
  }
  return options;
}

std::string text_of(const std::vector<BagOption>& options) {
  std::string text =
      fmt::format("{:<24} {:>8} {:>9} {:>12} {:>9} {:>7} {:>12} {:>10}\n", "type", "machines",
                  "at a time", "interval", "overhead", "losses", "time", "cost");
  for (const BagOption& option : options)
    text += fmt::format(
        "{:<24} {:>8} {:>9} {:>12} {:>7.2f} % {:>7.1f} {:>12} {:>10}\n",
        fmt::format("{}{}{}{}", option.type.empty() ? "this machine" : option.type,
                    option.zone.empty() ? "" : " ", option.zone, option.spot ? ", spot" : ""),
        option.machines, option.machines * option.slots, format_duration(option.interval_seconds),
        100.0 * option.overhead, option.losses, format_duration(option.seconds),
        fmt::format("${:.2f}", option.dollars));
  return text;
}

}  // namespace scavenger::campaign
