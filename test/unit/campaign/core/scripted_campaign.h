// A small campaign that tests tell what happens, and what it has answered as text.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "campaign/core/campaign.h"
#include "campaign/core/campaign_log.h"

namespace scavenger::campaign {

inline CampaignConfig small_config(std::uint32_t points = 3) {
  CampaignConfig config;
  config.name = "small";
  ParameterConfig c;
  for (std::uint32_t i = 0; i < points; ++i) c.values.push_back(i);
  config.space = {{"c", c}};
  config.simulation.command = {"engine", "{until}"};
  config.simulation.steps = 1000;
  config.simulation.checkpoint.files = {"state"};
  config.simulation.checkpoint.interval_seconds = 10.0;
  config.simulation.result.files = {"result.json"};
  config.simulation.stop.file = "stop";
  config.simulation.stop.grace_seconds = 4.0;
  config.simulation.tries = 2;
  config.selection.rule = SelectionRule::kRandom;
  return config;
}

inline std::string text_of(const CampaignAction& decided) {
  if (const auto* a = std::get_if<action::RequestMachine>(&decided))
    return fmt::format("request {}{}{}", a->machine, a->type.empty() ? "" : ": ", a->type);
  if (const auto* a = std::get_if<action::StartHost>(&decided))
    return fmt::format("host {}", a->machine);
  if (const auto* a = std::get_if<action::ReleaseMachine>(&decided))
    return fmt::format("release {}", a->machine);
  if (const auto* a = std::get_if<action::StartTask>(&decided))
    return fmt::format("start {} on {}: kept {}, {} to {}", a->task, a->machine, a->kept, a->from,
                       a->until);
  if (const auto* a = std::get_if<action::RunSegment>(&decided))
    return fmt::format("run {}: {} to {}", a->task, a->from, a->until);
  if (const auto* a = std::get_if<action::StopTask>(&decided))
    return fmt::format("stop {}", a->task);
  if (const auto* a = std::get_if<action::EndTask>(&decided)) return fmt::format("end {}", a->task);
  if (std::holds_alternative<action::Judge>(decided)) return "judge";
  return "finish: " + std::get<action::Finish>(decided).status;
}

using Lines = std::vector<std::string>;

class ScriptedCampaign {
 public:
  explicit ScriptedCampaign(CampaignConfig config, const MachinePrice& asked_price = {})
      : ScriptedCampaign(std::move(config), catalogue_of(asked_price)) {}
  ScriptedCampaign(CampaignConfig config, MachineCatalogue catalogue,
                   double wall_seconds = perfmodel::kNeverSeconds)
      : plan_{std::move(config), std::move(catalogue), wall_seconds}, campaign_(plan_) {}

  Lines feed(const CampaignEvent& event) {
    const CampaignActions actions = campaign_.step(event, seconds_);
    log_ += log_line(seconds_, event, actions) + "\n";
    last_ = actions;
    Lines lines;
    for (const CampaignAction& decided : actions) lines.push_back(text_of(decided));
    return lines;
  }
  Lines begin() {
    return feed(event::Started{plan_.config.stop.max_simulations, plan_.config.stop.max_cost});
  }
  // A machine of `cores` comes and is ready.
  Lines bring(MachineId id, std::uint32_t cores = 1, double price_per_hour = 0.0) {
    event::MachineReady ready;
    ready.machine = id;
    ready.cores = cores;
    ready.price_per_hour = price_per_hour;
    ready.on_demand_price_per_hour = 3.0 * price_per_hour;
    feed(ready);
    return feed(event::HostJoined{id});
  }
  // The segment of this task runs for so long, and is kept after one second.
  Lines run_segment(TaskId task, double seconds, std::uint64_t until) {
    feed(event::SegmentBegan{task});
    pass(seconds);
    feed(event::SegmentEnded{task});
    pass(1.0);
    return feed(event::SegmentKept{task, until});
  }
  void pass(double seconds) { seconds_ += seconds; }
  void pass_until(double seconds) { seconds_ = std::max(seconds_, seconds); }

  const Campaign& campaign() const { return campaign_; }
  const CampaignActions& last() const { return last_; }
  double seconds() const { return seconds_; }
  Amount spent(Spent kind) const {
    return campaign_.ledger().amounts(seconds_)[static_cast<std::size_t>(kind)];
  }
  const std::string& log() const { return log_; }
  const CampaignPlan& plan() const { return plan_; }

 private:
  static MachineCatalogue catalogue_of(const MachinePrice& price) {
    CatalogueEntry entry;
    entry.on_demand = price;
    return {{entry}, MachineCatalogue::Order::kAsListed};
  }

  CampaignPlan plan_;
  Campaign campaign_;
  CampaignActions last_;
  std::string log_;
  double seconds_ = 0.0;
};

}  // namespace scavenger::campaign
