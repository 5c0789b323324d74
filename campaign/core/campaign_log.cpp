#include "campaign/core/campaign_log.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/named_variant.h"

namespace scavenger::campaign {

namespace event {
// Older logs have no `identity`, `most_machines` and `tries_failed_again`.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Started, max_simulations, max_cost, identity,
                                                most_machines, tries_failed_again)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineReady, machine, name, type, zone, spot, cores,
                                   price_per_hour, on_demand_price_per_hour, minimum_seconds,
                                   returning_seconds, charged_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineDelayed, machine, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineRefused, machine, reason, retry_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineNotice, machine, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineLost, machine, how, was_taken)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineReleased, machine)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostJoined, machine)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostLost, machine, how)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SegmentBegan, task)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SegmentEnded, task)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SegmentKept, task, until)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheckpointKept, task)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheckpointDamaged, task, kept)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TaskFailed, task, how, reason, log_tail)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Judged, point, fault, log_tail)
// Older logs have no `lengthen` and no `left_out`.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Advised, results, left_out, profiles, rmse,
                                                most_rmse, within, least_within, covered, seconds,
                                                predict_seconds, points, lengthen)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainingFailed, results, reason, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StopAsked, reason, at_once, is_failure)
inline void to_json(nlohmann::json& json, const Tick&) {
  json = nlohmann::json::object();
}
inline void from_json(const nlohmann::json&, Tick&) {}
}  // namespace event

namespace action {
inline void to_json(nlohmann::json& json, const RequestMachine& request) {
  json = {{"machine", request.machine}};
  if (!request.type.empty()) json["type"] = request.type;
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartHost, machine)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReleaseMachine, machine)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartTask, task, machine, point, kept, from, until)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunSegment, task, from, until)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StopTask, task)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EndTask, task)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Judge, point)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finish, status, reason)
}  // namespace action

namespace {

static_assert(have_different_names<CampaignEvent>());
static_assert(have_different_names<CampaignAction>());

using nlohmann::json;

json to_json(const CampaignActions& actions) {
  json list = json::array();
  for (const CampaignAction& decided : actions)
    std::visit([&](const auto& what) { list.push_back({{std::string(what.kName), json(what)}}); },
               decided);
  return list;
}

CampaignEvent event_from(const json& line) {
  CampaignEvent event;
  const std::string name = line.at("event");
  const bool is_known = with_alternative(
      name, std::type_identity<CampaignEvent>(),
      [&]<typename Event>(std::type_identity<Event>) { event = line.at("of").get<Event>(); });
  if (!is_known)
    throw InputError({.what = fmt::format("there is no event \"{}\"", name),
                      .where = {},
                      .remedy = "use the version that wrote the log"});
  return event;
}

// Throws InputError and JSON errors.
void replay_line(ReplayedLog& log, std::string_view text) {
  const json line = parse_json(text);
  const double seconds = line.at("seconds");
  const CampaignEvent event = event_from(line);
  if (!(seconds >= log.seconds))
    throw InputError({.what = "time runs backwards", .where = {}, .remedy = {}});
  const CampaignActions actions = log.campaign.step(event, seconds);
  if (to_json(actions) != line.at("actions"))
    throw InputError(
        {.what = fmt::format("after {} the campaign decides {}, and the log has {}",
                             line.at("event").get<std::string>(), json_text(to_json(actions)),
                             json_text(line.at("actions"))),
         .where = {},
         .remedy = "if config.json was edited, put it back as it was; else use the version that "
                   "wrote the log"});
  log.seconds = seconds;
  ++log.steps;
}

}  // namespace

std::string log_line(double seconds, const CampaignEvent& event, const CampaignActions& actions) {
  json line;
  std::visit(
      [&](const auto& what) {
        line = {{"seconds", seconds}, {"event", what.kName}, {"of", json(what)}};
      },
      event);
  line["actions"] = to_json(actions);
  return json_text(line, {.broken_utf8 = BrokenUtf8::kReplace});
}

ReplayedLog replay_log(CampaignPlan plan, std::string_view text, const std::string& where) {
  ReplayedLog log{Campaign(std::move(plan)), 0.0, 0};
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    ++number;
    const std::string place = fmt::format("{}:{}", where, number);
    try {
      replay_line(log, text.substr(0, end));
    } catch (const json::exception&) {
      throw InputError({.what = "the line is no step of a campaign",
                        .where = place,
                        .remedy = "restore the log from a copy, or start a new campaign"});
    } catch (const InputError& error) {
      throw InputError(
          {.what = error.problem().what, .where = place, .remedy = error.problem().remedy});
    }
    text.remove_prefix(end + 1);
  }
  return log;
}

}  // namespace scavenger::campaign
