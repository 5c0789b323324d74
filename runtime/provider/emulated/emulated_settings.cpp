#include "runtime/provider/emulated/emulated_settings.h"

#include "runtime/base/json_text.h"
#include "runtime/schema/json.h"

namespace scavenger {

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
  const Json& preemption = json.at("preemption");
  settings.preemption = {.mean_life_seconds = preemption.at("mean_life_seconds"),
                         .notice_seconds = preemption.at("notice_seconds"),
                         .notice_share = preemption.at("notice_share"),
                         .seed = preemption.at("seed"),
                         .schedule = {}};
  for (const Json& loss : preemption.at("schedule"))
    settings.preemption.schedule.push_back({.worker = loss.at("worker"),
                                            .life_seconds = loss.at("life_seconds"),
                                            .notice_seconds = loss.at("notice_seconds")});
  settings.quota_period_seconds = json.at("quota_period_milliseconds").get<double>() / 1000.0;
  return settings;
}

}  // namespace scavenger
