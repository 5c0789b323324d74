// Private to campaign_config_file.cpp: the fields of a campaign's configuration
// (runtime/config/config_fields.h).
#pragma once

#include <algorithm>
#include <string>

#include "campaign/config/campaign_config.h"
#include "runtime/base/check.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_fields.h"

namespace scavenger::campaign {

NLOHMANN_JSON_SERIALIZE_ENUM(CheckpointMode, {{CheckpointMode::kSegments, "segments"},
                                              {CheckpointMode::kSelf, "self"}})
NLOHMANN_JSON_SERIALIZE_ENUM(MergeRule, {{MergeRule::kLast, "last"},
                                         {MergeRule::kMeanBySteps, "mean_by_steps"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SelectionRule, {{SelectionRule::kRandom, "random"},
                                             {SelectionRule::kSpaceFilling, "space_filling"},
                                             {SelectionRule::kUncertainty, "uncertainty"}})

template <typename Fields, MaybeConst<ParameterConfig> T>
void visit_fields(Fields& field, T& parameter) {
  field.unless_empty("values", parameter.values);
  field.unless_empty("range", parameter.range);
  field.unless_empty("step", parameter.step);
}

inline void visit_interval(ConfigReader& field, SimulationCheckpoint& checkpoint) {
  const Json& interval = field.at("interval_seconds");
  checkpoint.interval_seconds = interval == kAutomaticWord ? 0.0 : interval.get<double>();
}
inline void visit_interval(ConfigWriter& field, const SimulationCheckpoint& checkpoint) {
  const bool is_automatic = checkpoint.interval_seconds == 0.0;
  field.put("interval_seconds",
            is_automatic ? Json(kAutomaticWord) : Json(checkpoint.interval_seconds));
}

template <typename Fields, MaybeConst<SimulationCheckpoint> T>
void visit_fields(Fields& field, T& checkpoint) {
  field("files", checkpoint.files);
  field("mode", checkpoint.mode);
  visit_interval(field, checkpoint);
  field("mean_life_hours", checkpoint.mean_life_hours);
}

template <typename Fields, MaybeConst<ReachedStep> T>
void visit_fields(Fields& field, T& reached) {
  field("file", reached.file);
  field("key", reached.key);
}

template <typename Fields, MaybeConst<SimulationStop> T>
void visit_fields(Fields& field, T& stop) {
  field.unless_empty("file", stop.file);
  field.unless_empty("signal", stop.signal);
  field("grace_seconds", stop.grace_seconds);
  field("reached", stop.reached);
}

template <typename Fields, MaybeConst<ProfileColumns> T>
void visit_fields(Fields& field, T& profile) {
  field("file", profile.file);
  field("x", profile.x);
  field("y", profile.y);
  field("errors", profile.errors);
}

template <typename Fields, MaybeConst<SimulationResult> T>
void visit_fields(Fields& field, T& result) {
  field("files", result.files);
  field("merge", result.merge);
  field("profile", result.profile);
}

template <typename Fields, MaybeConst<ValidityRules> T>
void visit_fields(Fields& field, T& valid) {
  field("finite", valid.finite);
  field("ranges", valid.ranges);
}

template <typename Fields, MaybeConst<SimulationConfig> T>
void visit_fields(Fields& field, T& simulation) {
  field("command", simulation.command);
  field("files", simulation.files);
  field("templates", simulation.templates);
  field("cores", simulation.cores);
  field("steps", simulation.steps);
  field("step_multiple", simulation.step_multiple);
  field("checkpoint", simulation.checkpoint);
  field("stop", simulation.stop);
  field("result", simulation.result);
  field("valid", simulation.valid);
  field("limit_hours", simulation.limit_hours);
  field("tries", simulation.tries);
}

template <typename Fields, MaybeConst<SelectionConfig> T>
void visit_fields(Fields& field, T& selection) {
  field("holdout", selection.holdout);
  field("rule", selection.rule);
}

template <typename Fields, MaybeConst<SurrogateConfig> T>
void visit_fields(Fields& field, T& surrogate) {
  field("target_rmse", surrogate.target_rmse);
  field("target_within_errors", surrogate.target_within_errors);
  field("first_results", surrogate.first_results);
  field("retrain_results", surrogate.retrain_results);
  field("most_doublings", surrogate.most_doublings);
  field("members", surrogate.members);
  field("hidden", surrogate.hidden);
  field("iterations", surrogate.iterations);
  field("learning_rate", surrogate.learning_rate);
}

template <typename Fields, MaybeConst<CampaignStop> T>
void visit_fields(Fields& field, T& stop) {
  field("max_simulations", stop.max_simulations);
  field("max_cost", stop.max_cost);
}

template <typename Fields, MaybeConst<MachinesConfig> T>
void visit_fields(Fields& field, T& machines) {
  field("count", machines.count);
  field("price_per_hour", machines.price_per_hour);
  field("listen_address", machines.listen_address);
  field("port", machines.port);
  field("start_seconds", machines.start_seconds);
  field("silence_seconds", machines.silence_seconds);
}

inline void visit_space(ConfigReader& field, CampaignConfig& config) {
  for (const auto& [name, parameter] : field.at("space").items())
    config.space.emplace_back(name, read_fields<ParameterConfig>(parameter));
}
inline void visit_space(ConfigWriter& field, const CampaignConfig& config) {
  Json space = Json::object();
  for (const auto& [name, parameter] : config.space) space[name] = write_fields(parameter);
  field.put("space", std::move(space));
}

// A provider's settings are kept as their document.
inline void visit_provider(ConfigReader& field, CampaignConfig& config) {
  const Json& object = field.at("provider");
  const std::string name = object.at("type");
  const auto found = std::ranges::find_if(kProviderTypes,
                                          [&](ProviderType type) { return name_of(type) == name; });
  SCAVENGER_CHECK(found != kProviderTypes.end());
  config.provider.type = *found;
  config.provider.spot = object.value("spot", false);
  config.provider.settings = json_text(object);
}
inline void visit_provider(ConfigWriter& field, const CampaignConfig& config) {
  field.put("provider", parse_json<Json>(config.provider.settings));
}

template <typename Fields, MaybeConst<CampaignConfig> T>
void visit_fields(Fields& field, T& config) {
  field("name", config.name);
  field("seed", config.seed);
  visit_space(field, config);
  field("simulation", config.simulation);
  field("selection", config.selection);
  field("surrogate", config.surrogate);
  field("stop", config.stop);
  visit_provider(field, config);
  field("machines", config.machines);
}

}  // namespace scavenger::campaign
