#include "elastic/coordinator/job/job_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "elastic/coordinator/job/host.h"
#include "elastic/history/evaluation_metric.h"
#include "elastic/plan/model_identity.h"
#include "runtime/base/clock.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/version.h"
#include "runtime/config/config_file.h"
#include "runtime/config/learning_rate.h"
#include "runtime/config/metric.h"
#include "runtime/config/placement.h"
#include "runtime/data/sample_order.h"
#include "runtime/metrics/metric_value.h"
#include "runtime/training/parameter_groups.h"

namespace scavenger::elastic {
namespace {

Membership first_membership(const JobStart& start) {
  Membership membership;
  membership.epoch = 1;
  membership.batch_size = start.config.batch_size;
  membership.shares = split_batch(start.config.batch_size, start.config.cluster.workers);
  membership.rate_factor = kept_rate_factor(start).value_or(
      batch_size_factor(start.config.optimizer, membership.batch_size));
  if (start.checkpoint) {
    const Checkpoint& checkpoint = start.checkpoint->content;
    membership.epoch = static_cast<std::uint32_t>(checkpoint.membership_epoch) + 1;
    membership.first_iteration = checkpoint.iteration;
    membership.first_position = checkpoint.position;
  }
  return membership;
}

// Nothing where the job had no early stopping when the checkpoint was written, or by another
// metric.
std::optional<EarlyStopState> kept_early_stop(const StopConfig& stop,
                                              const nlohmann::json& history) {
  if (!stop.early_stopping || !history.contains("early_stopping")) return std::nullopt;
  const auto& kept = history["early_stopping"];
  if (kept.at("metric") != name_of(stop.early_stopping->metric)) return std::nullopt;
  EarlyStopState state;
  if (kept.at("best").is_number()) state.best = kept.at("best").get<double>();
  kept.at("best_iteration").get_to(state.best_iteration);
  kept.at("without_gain").get_to(state.without_gain);
  return state;
}

}  // namespace

ControllerPlan make_plan(const JobStart& start, const DataSize& data, std::uint32_t shards,
                         double seconds_before) {
  ControllerPlan plan;
  plan.shards = shards;
  plan.membership = first_membership(start);
  plan.samples_per_epoch = data.train_samples;
  plan.stop = start.config.stop;
  plan.evaluation = start.config.evaluation;
  plan.checkpoint = start.config.checkpoint;
  plan.limits = start.config.limits;
  plan.faults = start.config.faults;
  plan.state_home = shards == 0                        ? StateHome::kWorkers
                    : uses_shared_memory(start.config) ? StateHome::kMemory
                                                       : StateHome::kShards;
  plan.seconds_before = seconds_before;
  plan.resumes_checkpoint = start.checkpoint.has_value();
  if (start.checkpoint) {
    const auto& history = start.checkpoint->content.history;
    if (history.contains("best_score") && history["best_score"].is_number())
      plan.best_score = history["best_score"].get<double>();
    plan.early_stop = kept_early_stop(start.config.stop, history);
  }
  return plan;
}

// The other rules give the same factor again.
std::optional<double> kept_rate_factor(const JobStart& start) {
  const OptimizerConfig& optimizer = start.config.optimizer;
  if (!start.checkpoint || optimizer.batch_size_rule != BatchSizeRule::kAdaScale)
    return std::nullopt;
  const auto& history = start.checkpoint->content.history;
  if (!history.contains("learning_rate")) return std::nullopt;
  Membership membership;
  membership.batch_size = start.config.batch_size;
  membership.rate_factor = history["learning_rate"].value("factor", 0.0);
  if (membership.rate_factor <= 0.0 ||
      history["learning_rate"] != rate_history(optimizer, membership))
    return std::nullopt;
  return membership.rate_factor;
}

nlohmann::json rate_history(const OptimizerConfig& optimizer, const Membership& membership) {
  return {{"factor", membership.rate_factor},
          {"batch_size", membership.batch_size},
          {"reference_batch_size", optimizer.reference_batch_size}};
}

nlohmann::json shape_history(const DataShape& shape) {
  return {{"sample_shape", shape.sample_shape},
          {"vocabulary", shape.vocabulary},
          {"target", static_cast<int>(shape.target)},
          {"classes", shape.classes},
          {"target_shape", shape.target_shape}};
}

std::optional<DataShape> kept_shape(const Checkpoint& checkpoint) {
  if (!checkpoint.history.contains("data_shape")) return std::nullopt;
  const auto& kept = checkpoint.history["data_shape"];
  DataShape shape;
  kept.at("sample_shape").get_to(shape.sample_shape);
  kept.at("vocabulary").get_to(shape.vocabulary);
  shape.target = static_cast<TargetKind>(kept.at("target").get<int>());
  kept.at("classes").get_to(shape.classes);
  kept.at("target_shape").get_to(shape.target_shape);
  return shape;
}

nlohmann::json early_stop_history(Metric metric, const EarlyStopState& state) {
  nlohmann::json history{{"metric", name_of(metric)},
                         {"best", nullptr},
                         {"best_iteration", state.best_iteration},
                         {"without_gain", state.without_gain}};
  if (state.best) history["best"] = *state.best;
  return history;
}

void check_vocabulary(const Checkpoint& checkpoint, const DataSize& data,
                      const std::string& where) {
  const auto check = [&](const std::string& there, const std::string& here, const char* name) {
    if (there == here) return;
    const auto words = [](const std::string& text) { return std::ranges::count(text, '\n'); };
    const auto same = std::ranges::mismatch(there, here).in1 - there.begin();
    throw CheckpointError(
        {.what = fmt::format("the {} of the data, {} words, is not that of the checkpoint, {} "
                             "words: they differ from word {} on",
                             name, words(here), words(there),
                             std::count(there.begin(), there.begin() + same, '\n')),
         .where = where,
         .remedy = "put the training data back as they were when the job started, or start a new "
                   "job"});
  };
  check(checkpoint.vocabulary, data.vocabulary, "vocabulary");
  check(checkpoint.target_vocabulary, data.target_vocabulary, "target vocabulary");
}

int exit_code_of(const EndJob& end) {
  if (end.status == Status::kFailed) return end.bad_input ? 2 : 1;
  return end.status == Status::kInterrupted ? 130 : 0;
}

fact::Evaluation make_evaluation_event(const JobConfig& config, const EvaluationSums& sums) {
  fact::Evaluation event;
  event.samples = sums.samples;
  for (const Metric metric : metrics_of(config))
    set_metric(event, metric, metric_value(metric, sums));
  return event;
}

fact::Model make_model_event(const JobConfig& config, const TensorLayout& parameters,
                             const TensorLayout& buffers) {
  fact::Model model;
  model.parameter_count = parameters.element_count();
  nlohmann::json layers = nlohmann::json::array();
  layers.push_back(identity_of(config).model);
  for (const TensorLayout* layout : {&parameters, &buffers})
    for (const TensorPlace& tensor : layout->tensors())
      layers.push_back({tensor.name, tensor.shape});
  model.architecture = sha256_hex(json_text(layers)).substr(0, 16);
  if (config.noise.per_layer)
    for (const ParameterGroup& group : group_by_layer(parameters))
      model.groups.push_back(group.name);
  return model;
}

fact::Start make_start_event(const JobStart& start, const DataSize& data,
                             const std::string& config_json, double seconds_before) {
  fact::Start event;
  event.utc = utc_timestamp();
  event.job_id = sha256_hex(start.folder.path.string()).substr(0, 16);
  event.name = start.config.name;
  event.version = version();
  event.commit = commit();
  event.config_digest = sha256_hex(config_json);
  if (start.checkpoint)
    event.resumed_from_iteration = start.checkpoint->content.iteration;
  else if (start.is_resume)
    event.resumed_from_iteration = 0;
  event.time_before = seconds_before;
  event.workers = start.config.cluster.workers;
  event.price_per_worker_hour = start.config.cluster.price_per_worker_hour;
  event.precision = start.config.compute.precision;
  event.samples_per_epoch = data.train_samples;
  if (const auto& target = start.config.stop.target)
    event.target = fact::Target{target->metric, target->split, target->value};
  event.limits = {start.config.stop.max_epochs, start.config.stop.max_iterations,
                  start.config.stop.max_seconds, start.config.stop.max_cost};
  event.policy = start.config.search.policy;
  return event;
}

}  // namespace scavenger::elastic
