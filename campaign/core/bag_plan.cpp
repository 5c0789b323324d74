#include "campaign/core/bag_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/text.h"

namespace scavenger::campaign {
namespace {

constexpr std::uint64_t kRehearsals = 5;
// Of a larger bag so many are rehearsed for each place, and the rest takes as long.
constexpr std::uint64_t kFewestRehearsed = 64;
constexpr std::uint64_t kRehearsedPerPlace = 8;
constexpr std::uint64_t kMostRehearsed = 4000;

std::uint64_t bag_size(const CampaignConfig& config) {
  const std::uint64_t points = Space(config.space).size();
  const std::uint64_t limit = config.stop.max_simulations;
  return limit == 0 ? points : std::min(points, limit);
}

// A bag of `rehearsed` simulations stands for one of all: after the start, time and cost are in
// proportion to the simulations.
void rehearse_into(BagOption& option, CampaignPlan plan, const RehearsedWorld& world,
                   std::uint64_t rehearsed) {
  const std::uint64_t all = bag_size(plan.config);
  const double scale = static_cast<double>(all) / static_cast<double>(rehearsed);
  if (rehearsed < all) plan.config.stop = {.max_simulations = rehearsed, .max_cost = 0.0};
  double useful = 0.0, paid = 0.0, segments = 0.0;
  for (std::uint64_t seed = 0; seed < kRehearsals; ++seed) {
    const Rehearsed one = rehearse(plan, world, seed);
    const Amount sum = one.all();
    useful += one.spent[static_cast<std::size_t>(Spent::kUseful)].seconds;
    paid += sum.seconds;
    segments += static_cast<double>(one.segments);
    const double running = std::max(0.0, one.seconds - world.start_seconds);
    constexpr auto kCount = static_cast<double>(kRehearsals);
    option.seconds += (one.seconds - running + running * scale) / kCount;
    option.dollars += sum.dollars * scale / kCount;
    option.losses += static_cast<double>(one.losses) * scale / kCount;
    option.simulations += static_cast<double>(one.done) * scale / kCount;
    option.status = one.status;
    option.reason = one.reason;
  }
  option.overhead = paid > 0.0 ? 1.0 - useful / paid : 0.0;
  option.interval_seconds = segments > 0.0 ? useful / segments : 0.0;
}

}  // namespace

BagOption plan_campaign(const CampaignPlan& plan, const RehearsedWorld& world) {
  BagOption option;
  option.spot = plan.config.provider.spot;
  option.machines = plan.config.machines.count;
  rehearse_into(option, plan, world, std::min(bag_size(plan.config), kMostRehearsed));
  return option;
}

std::vector<BagOption> plan_types(const CampaignPlan& plan, const RehearsedWorld& world) {
  const bool spot = plan.config.provider.spot;
  std::vector<BagOption> options;
  for (const CatalogueEntry& entry : plan.catalogue.entries) {
    const auto& price = price_of(entry, spot);
    const bool may_be_smaller = plan.config.provider.type == ProviderType::kEmulated;
    if (!price || (entry.cores < plan.config.simulation.cores && !may_be_smaller)) continue;
    const std::uint32_t most =
        std::min(plan.config.machines.count, entry.count.value_or(plan.config.machines.count));
    for (std::uint32_t machines = 1; machines <= most;
         machines = machines < most ? std::min(2 * machines, most) : most + 1) {
      CampaignPlan alone = plan;
      alone.catalogue.entries = {entry};
      alone.config.machines.count = machines;
      alone.config.stop.max_cost = 0.0;
      BagOption option{.type = entry.type, .zone = entry.zone};
      option.spot = spot && entry.spot.has_value();
      option.machines = machines;
      option.slots =
          std::max(1U, cores_of(alone.config, entry, world) / plan.config.simulation.cores);
      const std::uint64_t places = std::uint64_t{machines} * option.slots;
      rehearse_into(
          option, std::move(alone), world,
          std::min(bag_size(plan.config), std::max(kFewestRehearsed, kRehearsedPerPlace * places)));
      options.push_back(std::move(option));
    }
  }
  return options;
}

namespace {

std::string table_of(const std::vector<BagOption>& options) {
  std::string text =
      fmt::format("{:<24} {:>8} {:>9} {:>12} {:>9} {:>7} {:>12} {:>10}\n", "type alone", "machines",
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

std::string line_of(const BagOption& chosen) {
  return fmt::format(
      "as configured: {:.0f} simulations in {} for ${:.2f}, {} machines at most, {:.1f} of them "
      "lost, {:.1f} % overhead; {}: {}\n",
      chosen.simulations, format_duration(chosen.seconds), chosen.dollars, chosen.machines,
      chosen.losses, 100.0 * chosen.overhead, chosen.status, chosen.reason);
}

}  // namespace

std::string plan_text(const CampaignPlan& plan, const RehearsedWorld& world, double mean_seconds,
                      const std::string& source) {
  const std::uint64_t simulations = bag_size(plan.config);
  std::string text = fmt::format(
      "{} simulations of {}{}\nthey compute for {} on one slot; checkpoints of {}, starts of {}\n",
      simulations, format_duration(mean_seconds), source.empty() ? "" : ", " + source,
      format_duration(mean_seconds * static_cast<double>(simulations)),
      format_duration(world.checkpoint_seconds), format_duration(world.start_seconds));
  const std::vector<BagOption> types = plan_types(plan, world);
  if (types.empty())
    return text + fmt::format("no machine of the provider has a price and {} cores\n",
                              plan.config.simulation.cores);
  text += line_of(plan_campaign(plan, world));
  if (plan.config.surrogate && (plan.config.surrogate->target_rmse > 0.0 ||
                                plan.config.surrogate->target_within_errors > 0.0))
    text += "its surrogate may be good enough earlier\n";
  return text + table_of(types);
}

}  // namespace scavenger::campaign
