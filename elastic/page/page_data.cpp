#include "elastic/page/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "elastic/history/time_to_go.h"
#include "elastic/page/chart_json.h"
#include "elastic/report/event_text.h"
#include "elastic/report/progress_text.h"
#include "elastic/report/savings_json.h"
#include "runtime/base/json_text.h"
#include "runtime/vocabulary/word_json.h"

namespace scavenger::elastic {
namespace {

using json = nlohmann::ordered_json;

// More memberships than this are not drawn one by one; the latest are.
constexpr std::size_t kMaxPhases = 200;
constexpr std::size_t kMaxPhasesByWorker = 20;
constexpr std::size_t kMaxCandidates = 2000;

json identity_json(const RunNumbers& numbers, const std::string& folder) {
  const fact::Start& start = numbers.start;
  json target = nullptr;
  if (start.target)
    target = {{"metric", name_of(start.target->metric)},
              {"split", name_of(start.target->split)},
              {"value", chart_number(start.target->value)}};
  return {{"folder", folder},
          {"name", start.name},
          {"job_id", start.job_id},
          {"utc", start.utc},
          {"version", start.version},
          {"commit", start.commit},
          {"host", start.host.name},
          {"cpu", start.host.cpu},
          {"cores", start.host.cores},
          {"memory_bytes", start.host.memory_bytes},
          {"config_digest", start.config_digest},
          {"precision", start.precision ? json(*start.precision) : json(nullptr)},
          {"samples_per_epoch", start.samples_per_epoch},
          {"parameter_count",
           numbers.model ? numbers.model->fact.parameter_count : start.parameter_count},
          {"price_per_worker_hour", chart_number(start.price_per_worker_hour)},
          {"max_epochs", chart_number(start.limits.max_epochs)},
          {"max_iterations", start.limits.max_iterations},
          {"max_seconds", chart_number(start.limits.max_seconds)},
          {"max_cost", chart_number(start.limits.max_cost)},
          {"target", std::move(target)}};
}

json pace_json(const RecentPace& pace) {
  if (!pace.known()) return nullptr;
  return {{"samples_per_second", chart_number(pace.samples_per_second())},
          {"loss", chart_number(pace.loss())},
          {"compute_seconds", chart_number(pace.compute_seconds())},
          {"sync_wait_seconds", chart_number(pace.sync_wait_seconds())}};
}

json totals_json(const RunHistory& history) {
  const RunNumbers& numbers = history.numbers();
  json to_go = nullptr;
  if (const auto left = estimate_time_to_go(numbers); left && !numbers.status)
    to_go = {{"seconds", chart_number(left->seconds)},
             {"cost", chart_number(left->cost)},
             {"at_most", left->at_most}};
  json to_target = nullptr;
  if (const auto left = predicted_to_go(numbers))
    to_target = {{"seconds", chart_number(left->seconds)},
                 {"seconds_low", chart_number(left->seconds_low)},
                 {"seconds_high", chart_number(left->seconds_high)},
                 {"cost", chart_number(left->cost)}};
  json reached = nullptr;
  if (numbers.target_reached)
    reached = {{"time", chart_seconds(numbers.target_reached->time)},
               {"value", chart_number(numbers.target_reached->fact.value)},
               {"epoch", chart_number(numbers.target_reached->fact.epoch)},
               {"iteration", numbers.target_reached->fact.iteration}};
  return {{"status", status_name(numbers)},
          {"reason", numbers.reason},
          {"outcome", numbers.status ? end_line(numbers) : ""},
          {"seconds", chart_seconds(numbers.seconds)},
          {"start_up_seconds", chart_seconds(numbers.start_up_seconds)},
          {"cost", chart_number(numbers.cost)},
          {"iterations", numbers.iterations},
          {"epochs", chart_number(numbers.epochs())},
          {"samples", numbers.position},
          {"samples_trained", numbers.samples_trained},
          {"iterations_trained", numbers.iterations_trained},
          {"iterations_repeated", numbers.iterations_repeated},
          {"samples_per_second", chart_number(numbers.samples_per_second())},
          {"losses", numbers.recoveries.losses},
          {"warnings", numbers.warnings.total},
          {"checkpoints_written", numbers.checkpoints.written},
          {"checkpoints_failed", numbers.checkpoints.failed},
          {"checkpoints_damaged", numbers.checkpoints.damaged},
          {"target_reached", std::move(reached)},
          {"to_go", std::move(to_go)},
          {"to_target", std::move(to_target)},
          {"pace", pace_json(history.pace())}};
}

json resumes_json(const RunNumbers& numbers) {
  json list = json::array();
  const auto& starts = numbers.starts;
  const bool has_first = starts.total == starts.latest.size();
  for (std::size_t i = has_first ? 1 : 0; i < starts.latest.size(); ++i)
    list.push_back({{"time", chart_seconds(starts.latest[i].time)},
                    {"iteration", starts.latest[i].fact.resumed_from_iteration.value_or(0)}});
  return list;
}

json metrics_json(const std::vector<MetricCurve>& metrics) {
  json list = json::array();
  for (const MetricCurve& metric : metrics) {
    json object = {{"split", name_of(metric.split)}, {"metric", name_of(metric.metric)}};
    object.update(curve_json(metric.values));
    list.push_back(std::move(object));
  }
  return list;
}

json timers_json(const RunHistory& history) {
  const TimerCurves& timers = history.timers();
  json object = curve_json(timers.seconds);
  object["data"] = curve_column(timers.data_wait, &CurvePoint::mean);
  object["forward"] = curve_column(timers.forward, &CurvePoint::mean);
  object["backward"] = curve_column(timers.backward, &CurvePoint::mean);
  object["sync"] = curve_column(timers.sync_wait, &CurvePoint::mean);
  object["by_worker"] = json::array();
  for (const auto& [index, curve] : history.worker_seconds()) {
    json worker = curve_json(curve);
    worker["index"] = index;
    object["by_worker"].push_back(std::move(worker));
  }
  return object;
}

json noise_json(const RunHistory& history) {
  const NoiseCurves& noise = history.noise();
  json object = curve_places(noise.value);
  object["value"] = curve_column(noise.value, &CurvePoint::mean);
  object["low"] = curve_column(noise.low, &CurvePoint::mean);
  object["high"] = curve_column(noise.high, &CurvePoint::mean);
  object["stable"] = json::array();
  for (const auto& [time, stable] : history.stable_noise().latest)
    object["stable"].push_back({{"time", chart_seconds(time)},
                                {"iteration", stable.iteration},
                                {"phase", stable.noise_phase},
                                {"learning_rate", chart_number(stable.learning_rate)},
                                {"value", chart_number(stable.noise_scale)},
                                {"low", chart_number(stable.noise_scale_low)},
                                {"high", chart_number(stable.noise_scale_high)}});
  return object;
}

json spread_json(const SeriesStatistics& series) {
  return {{"mean", chart_number(series.moments().mean())},
          {"p5", chart_number(series.quantile(0.05))},
          {"p50", chart_number(series.quantile(0.5))},
          {"p95", chart_number(series.quantile(0.95))},
          {"count", series.moments().count()}};
}

json by_worker_json(const PhaseNumbers& phase) {
  json list = json::array();
  for (const WorkerNumbers& worker : phase.workers) {
    const double straggler = worker.straggler_wait_seconds.moments().mean();
    list.push_back(
        {{"index", phase.membership.indices[worker.rank]},
         {"share", worker.share},
         {"data", chart_number(worker.data_wait_seconds.moments().mean())},
         {"forward", chart_number(worker.forward_seconds.moments().mean())},
         {"backward", chart_number(worker.backward_seconds.moments().mean())},
         {"transfer", chart_number(worker.sync_wait_seconds.moments().mean() - straggler)},
         {"straggler", chart_number(straggler)}});
  }
  return list;
}

json phases_json(const RunNumbers& numbers) {
  json list = json::array();
  const std::size_t count = numbers.phases.size();
  for (std::size_t i = count - std::min(count, kMaxPhases); i < count; ++i) {
    const PhaseNumbers& phase = numbers.phases[i];
    const fact::Membership& membership = phase.membership;
    json object = {{"epoch", membership.membership_epoch},
                   {"begin", chart_seconds(phase.begin_time)},
                   {"seconds", chart_seconds(phase.seconds)},
                   {"workers", membership.workers},
                   {"batch_size", membership.batch_size},
                   {"shares", membership.shares},
                   {"indices", membership.indices},
                   {"reason", membership.reason},
                   {"first_iteration", membership.first_iteration},
                   {"position", membership.position},
                   {"iterations", phase.iterations},
                   {"price", chart_number(phase.price_per_worker_hour)},
                   {"cost", chart_number(phase.cost)},
                   {"waiting_share", chart_number(phase.waiting_share())},
                   {"iteration_seconds", spread_json(phase.iteration_seconds)}};
    if (i + kMaxPhasesByWorker >= count) object["by_worker"] = by_worker_json(phase);
    list.push_back(std::move(object));
  }
  return list;
}

json configurations_json(const RunNumbers& numbers) {
  json list = json::array();
  for (const ConfigurationNumbers& one : numbers.configurations()) {
    const RobustMean robust = one.iteration_seconds.robust_mean();
    list.push_back({{"workers", one.workers},
                    {"batch_size", one.batch_size},
                    {"even", one.has_even_shares},
                    {"iterations", one.iterations},
                    {"seconds", chart_number(robust.mean)},
                    {"error", chart_number(robust.standard_error)},
                    {"p5", chart_number(one.iteration_seconds.quantile(0.05))},
                    {"p95", chart_number(one.iteration_seconds.quantile(0.95))}});
  }
  return list;
}

json processes_json(const RunHistory& history) {
  json list = json::array();
  for (const ProcessLife& life : history.processes().latest)
    list.push_back({{"role", name_of(life.role)},
                    {"index", life.index},
                    {"pid", life.pid},
                    {"started", chart_seconds(life.started)},
                    {"joined", optional_chart_seconds(life.joined)},
                    {"ended", optional_chart_seconds(life.ended)},
                    {"lost", life.end == LifeEnd::kLost},
                    {"how", life.how}});
  return list;
}

json checkpoints_json(const RunHistory& history) {
  json list = json::array();
  for (const auto& [time, checkpoint] : history.checkpoints().latest)
    list.push_back({{"time", chart_seconds(time)},
                    {"iteration", checkpoint.iteration},
                    {"folder", checkpoint.folder},
                    {"bytes", checkpoint.bytes},
                    {"stall_seconds", chart_number(checkpoint.stall_seconds)},
                    {"write_seconds", chart_number(checkpoint.write_seconds)},
                    {"best", checkpoint.best}});
  return list;
}

json recoveries_json(const RunNumbers& numbers) {
  json list = json::array();
  for (const auto& [time, recovery] : numbers.recoveries.list.latest)
    list.push_back({{"time", chart_seconds(time)},
                    {"lost", recovery.lost},
                    {"iteration", recovery.iteration},
                    {"iterations_lost", recovery.iterations_lost},
                    {"seconds", chart_number(recovery.seconds)}});
  return list;
}

json machines_json(const RunHistory& history) {
  const double now = history.numbers().seconds;
  json list = json::array();
  for (const MachineLife& life : history.machines().latest) {
    json refusals = json::array();
    for (const MachineRefusal& refusal : life.refusals)
      refusals.push_back({{"time", chart_seconds(refusal.time)},
                          {"zone", refusal.zone},
                          {"type", refusal.machine_type},
                          {"reason", refusal.reason}});
    list.push_back({{"name", life.machine.name},
                    {"worker", life.machine.worker},
                    {"type", life.machine.machine_type},
                    {"zone", life.machine.zone},
                    {"spot", life.machine.spot},
                    {"price_per_hour", chart_number(life.machine.price_per_hour)},
                    {"requested", chart_seconds(life.requested)},
                    {"ready", optional_chart_seconds(life.ready)},
                    {"notice", optional_chart_seconds(life.notice)},
                    {"ended", optional_chart_seconds(life.ended)},
                    {"last", name_of(life.machine.change)},
                    {"reason", life.machine.reason},
                    {"refusals", std::move(refusals)},
                    {"minimum_seconds", chart_number(life.machine.minimum_seconds)},
                    {"charged_before", chart_number(life.charged_seconds)},
                    {"seconds", chart_number(life.seconds(now))},
                    {"cost", chart_number(life.cost(now))},
                    {"on_demand_cost", chart_number(life.on_demand_cost(now))}});
  }
  return list;
}

json search_json(const RunNumbers& numbers) {
  json list = json::array();
  for (const auto& [time, step] : numbers.search_steps.latest)
    list.push_back({{"time", chart_seconds(time)},
                    {"iteration", step.iteration},
                    {"phase", name_of(step.phase)},
                    {"workers", step.workers},
                    {"batch_size", step.batch_size},
                    {"reason", step.reason}});
  return list;
}

json candidate_json(const fact::PredictedConfiguration& candidate) {
  return {{"workers", candidate.workers},
          {"batch_size", candidate.batch_size},
          {"iteration_seconds", chart_number(candidate.iteration_seconds)},
          {"iteration_seconds_low", chart_number(candidate.iteration_seconds_low)},
          {"iteration_seconds_high", chart_number(candidate.iteration_seconds_high)},
          {"epochs", chart_number(candidate.epochs)},
          {"seconds", chart_number(candidate.seconds)},
          {"seconds_low", chart_number(candidate.seconds_low)},
          {"seconds_high", chart_number(candidate.seconds_high)},
          {"cost", chart_number(candidate.cost)},
          {"measured", candidate.measured},
          {"extrapolated", candidate.extrapolated},
          {"pareto", candidate.pareto},
          {"knee", candidate.knee}};
}

json prediction_json(const RunNumbers& numbers) {
  if (!numbers.prediction) return nullptr;
  const auto& [time, prediction] = *numbers.prediction;
  json object = {{"time", chart_seconds(time)},
                 {"iteration", prediction.iteration},
                 {"policy", name_of(prediction.policy)},
                 {"relative", prediction.relative},
                 {"reference_batch", chart_number(prediction.reference_batch)},
                 {"time_form", prediction.time_form},
                 {"statistical_form", prediction.statistical_form},
                 {"noise_scale", chart_number(prediction.noise_scale)},
                 {"workers", prediction.workers},
                 {"batch_size", prediction.batch_size},
                 {"reason", prediction.reason},
                 {"candidates", json::array()}};
  for (std::size_t i = 0; i < std::min(prediction.candidates.size(), kMaxCandidates); ++i)
    object["candidates"].push_back(candidate_json(prediction.candidates[i]));
  return object;
}

json choices_json(const RunHistory& history) {
  json list = json::array();
  for (const ChosenConfiguration& choice : history.choices().latest) {
    json object = {{"time", chart_seconds(choice.time)},
                   {"iteration", choice.iteration},
                   {"policy", name_of(choice.policy)},
                   {"relative", choice.relative},
                   {"reason", choice.reason}};
    object.update(candidate_json(choice.predicted));
    list.push_back(std::move(object));
  }
  return list;
}

json notes_json(const RunHistory& history) {
  json list = json::array();
  for (const Note& note : history.notes().latest)
    list.push_back({{"time", chart_seconds(note.time)},
                    {"iteration", note.iteration},
                    {"kind", note.kind},
                    {"problem", note.attention == Attention::kProblem},
                    {"text", note.text}});
  return list;
}

}  // namespace

std::vector<PageSection> page_sections(const RunHistory& history, const std::string& folder) {
  const RunNumbers& numbers = history.numbers();
  std::vector<PageSection> sections;
  const auto add = [&](std::string_view name, const json& content) {
    sections.push_back({name, json_text(content, {.broken_utf8 = BrokenUtf8::kReplace})});
  };
  add("identity", identity_json(numbers, folder));
  add("totals", totals_json(history));
  add("resumes", resumes_json(numbers));
  add("loss", curve_json(numbers.training_loss));
  add("metrics", metrics_json(history.metrics()));
  add("phases", phases_json(numbers));
  add("configurations", configurations_json(numbers));
  add("timers", timers_json(history));
  add("noise", noise_json(history));
  add("search", search_json(numbers));
  add("prediction", prediction_json(numbers));
  add("choices", choices_json(history));
  add("savings", savings_json(numbers));
  add("machines", machines_json(history));
  add("processes", processes_json(history));
  add("recoveries", recoveries_json(numbers));
  add("checkpoints", checkpoints_json(history));
  add("notes", notes_json(history));
  return sections;
}

std::string to_json_object(const std::vector<PageSection>& sections) {
  std::string text = "{";
  for (const PageSection& section : sections) {
    if (text.size() > 1) text += ',';
    text += fmt::format("\"{}\":{}", section.name, section.json);
  }
  return text + "}";
}

}  // namespace scavenger::elastic
