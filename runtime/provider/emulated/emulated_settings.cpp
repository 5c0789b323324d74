#include "runtime/provider/emulated/emulated_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/schema/json.h"

namespace scavenger {
namespace {

std::vector<LostShare> lifetimes_from(const Json& preemption) {
  std::vector<LostShare> table;
  const Json rows = preemption.value("lifetimes", Json::array());
  for (const Json& row : rows) {
    const LostShare next{row.at(0), row.at(1)};
    const LostShare last = table.empty() ? LostShare{} : table.back();
    if (next.share > 1.0 || next.share < last.share || next.age_seconds < last.age_seconds)
      throw ConfigError(
          {.what = "ages and shares have to rise, and a share is at most 1",
           .where = fmt::format("provider.preemption.lifetimes[{}]", table.size()),
           .remedy = "write [age_seconds, share of machines that are gone by then], in order"});
    table.push_back(next);
  }
  if (!table.empty() && preemption.at("mean_life_seconds").get<double>() > 0.0)
    throw ConfigError({.what = "there is a table of lifetimes and a mean life",
                       .where = "provider.preemption",
                       .remedy = "leave out lifetimes or mean_life_seconds"});
  return table;
}

}  // namespace

EmulatedSettings emulated_settings(const ProviderConfig& config) {
  const Json json = parse_json<Json>(config.settings);
  EmulatedSettings settings;
  for (const Json& machine : json.at("machines"))
    settings.types.push_back({.name = machine.at("type"),
                              .cores = machine.at("cores"),
                              .link_megabits = machine.at("link_megabits"),
                              .price_per_hour = machine.at("price_per_hour"),
                              .spot_price_per_hour = machine.at("spot_price_per_hour"),
                              .start_seconds = machine.at("start_seconds"),
                              .count = machine.at("count")});
  const auto has_none = [](const EmulatedMachineType& type) { return type.count == 0; };
  if (!settings.types.empty() && std::ranges::all_of(settings.types, has_none))
    throw ConfigError({.what = "there is no machine of any type",
                       .where = "provider.machines",
                       .remedy = "give one of them a count above 0"});
  const Json& preemption = json.at("preemption");
  settings.preemption = {.mean_life_seconds = preemption.at("mean_life_seconds"),
                         .lifetimes = lifetimes_from(preemption),
                         .notice_seconds = preemption.at("notice_seconds"),
                         .notice_share = preemption.at("notice_share"),
                         .seed = preemption.at("seed"),
                         .schedule = {}};
  for (const Json& loss : preemption.at("schedule"))
    settings.preemption.schedule.push_back({.worker = loss.at("worker"),
                                            .life_seconds = loss.at("life_seconds"),
                                            .notice_seconds = loss.at("notice_seconds")});
  // A run folder may be older than the key.
  if (const auto speeds = json.find("speeds"); speeds != json.end()) {
    settings.speeds = {.spread = speeds->at("spread"), .seed = speeds->at("seed"), .slow = {}};
    for (const Json& slow : speeds->at("slow"))
      settings.speeds.slow.push_back({.machine = slow.at("machine"), .speed = slow.at("speed")});
  }
  settings.quota_period_seconds = json.at("quota_period_milliseconds").get<double>() / 1000.0;
  return settings;
}

}  // namespace scavenger
