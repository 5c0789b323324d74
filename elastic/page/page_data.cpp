#include "elastic/page/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "elastic/history/time_to_go.h"
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

// Six digits are more than a chart shows, and a third of the size of all. A page has tens of
// thousands of numbers each second, so this does without text: powers of ten up to 10^22 are exact,
// so the quotient is the very number that the six digits stand for.
double six_digits(double value) {
  constexpr int kMostExact = 22;
  static const auto kPowers = [] {
    std::array<double, kMostExact + 1> powers{1.0};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10.0;
    return powers;
  }();
  if (value == 0.0) return value;
  const int shift = 5 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (std::abs(shift) > kMostExact)
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
  const double power = kPowers[static_cast<std::size_t>(std::abs(shift))];
  return shift >= 0 ? std::round(value * power) / power : std::round(value / power) * power;
}

json number(double value) {
  return std::isfinite(value) ? json(six_digits(value)) : json(nullptr);
}

// A place in a job of days must be exact to less than a pixel of an hour.
json seconds(double value) {
  return std::round(value * 1e3) / 1e3;
}

json optional_seconds(const std::optional<double>& value) {
  return value ? seconds(*value) : json(nullptr);
}

json identity_json(const RunNumbers& numbers, const std::string& folder) {
  const fact::Start& start = numbers.start;
  json target = nullptr;
  if (start.target)
    target = {{"metric", name_of(start.target->metric)},
              {"split", name_of(start.target->split)},
              {"value", number(start.target->value)}};
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
          {"price_per_worker_hour", number(start.price_per_worker_hour)},
          {"max_epochs", number(start.limits.max_epochs)},
          {"max_iterations", start.limits.max_iterations},
          {"max_seconds", number(start.limits.max_seconds)},
          {"max_cost", number(start.limits.max_cost)},
          {"target", std::move(target)}};
}

json pace_json(const RecentPace& pace) {
  if (!pace.known()) return nullptr;
  return {{"samples_per_second", number(pace.samples_per_second())},
          {"loss", number(pace.loss())},
          {"compute_seconds", number(pace.compute_seconds())},
          {"sync_wait_seconds", number(pace.sync_wait_seconds())}};
}

json totals_json(const RunHistory& history) {
  const RunNumbers& numbers = history.numbers();
  json to_go = nullptr;
  if (const auto left = estimate_time_to_go(numbers); left && !numbers.status)
    to_go = {{"seconds", number(left->seconds)},
             {"cost", number(left->cost)},
             {"at_most", left->at_most}};
  json to_target = nullptr;
  if (const auto left = predicted_to_go(numbers))
    to_target = {{"seconds", number(left->seconds)},
                 {"seconds_low", number(left->seconds_low)},
                 {"seconds_high", number(left->seconds_high)},
                 {"cost", number(left->cost)}};
  json reached = nullptr;
  if (numbers.target_reached)
    reached = {{"time", seconds(numbers.target_reached->time)},
               {"value", number(numbers.target_reached->fact.value)},
               {"epoch", number(numbers.target_reached->fact.epoch)},
               {"iteration", numbers.target_reached->fact.iteration}};
  return {{"status", status_name(numbers)},
          {"reason", numbers.reason},
          {"outcome", numbers.status ? end_line(numbers) : ""},
          {"seconds", seconds(numbers.seconds)},
          {"start_up_seconds", seconds(numbers.start_up_seconds)},
          {"cost", number(numbers.cost)},
          {"iterations", numbers.iterations},
          {"epochs", number(numbers.epochs())},
          {"samples", numbers.position},
          {"samples_trained", numbers.samples_trained},
          {"iterations_trained", numbers.iterations_trained},
          {"iterations_repeated", numbers.iterations_repeated},
          {"samples_per_second", number(numbers.samples_per_second())},
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
    list.push_back({{"time", seconds(starts.latest[i].time)},
                    {"iteration", starts.latest[i].fact.resumed_from_iteration.value_or(0)}});
  return list;
}

json places_json(const DownsampledCurve& curve) {
  json first = json::array(), iteration = json::array(), epoch = json::array(),
       time = json::array();
  for (const CurvePoint& point : curve.points()) {
    first.push_back(point.first_iteration);
    iteration.push_back(point.last_iteration);
    epoch.push_back(number(point.epoch));
    time.push_back(seconds(point.time));
  }
  return {{"first", std::move(first)},
          {"iteration", std::move(iteration)},
          {"epoch", std::move(epoch)},
          {"time", std::move(time)}};
}

json column(const DownsampledCurve& curve, double CurvePoint::*value) {
  json list = json::array();
  for (const CurvePoint& point : curve.points())
    list.push_back(point.count > 0 ? number(point.*value) : json(nullptr));
  return list;
}

json curve_json(const DownsampledCurve& curve) {
  json object = places_json(curve);
  object["mean"] = column(curve, &CurvePoint::mean);
  // Where each point is one value these would only say it again.
  const bool is_merged =
      std::any_of(curve.points().begin(), curve.points().end(),
                  [](const CurvePoint& point) { return point.minimum < point.maximum; });
  if (is_merged) {
    object["low"] = column(curve, &CurvePoint::minimum);
    object["high"] = column(curve, &CurvePoint::maximum);
  }
  return object;
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
  object["data"] = column(timers.data_wait, &CurvePoint::mean);
  object["forward"] = column(timers.forward, &CurvePoint::mean);
  object["backward"] = column(timers.backward, &CurvePoint::mean);
  object["sync"] = column(timers.sync_wait, &CurvePoint::mean);
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
  json object = places_json(noise.value);
  object["value"] = column(noise.value, &CurvePoint::mean);
  object["low"] = column(noise.low, &CurvePoint::mean);
  object["high"] = column(noise.high, &CurvePoint::mean);
  object["stable"] = json::array();
  for (const auto& [time, stable] : history.stable_noise().latest)
    object["stable"].push_back({{"time", seconds(time)},
                                {"iteration", stable.iteration},
                                {"phase", stable.noise_phase},
                                {"learning_rate", number(stable.learning_rate)},
                                {"value", number(stable.noise_scale)},
                                {"low", number(stable.noise_scale_low)},
                                {"high", number(stable.noise_scale_high)}});
  return object;
}

json spread_json(const SeriesStatistics& series) {
  return {{"mean", number(series.moments().mean())},
          {"p5", number(series.quantile(0.05))},
          {"p50", number(series.quantile(0.5))},
          {"p95", number(series.quantile(0.95))},
          {"count", series.moments().count()}};
}

json by_worker_json(const PhaseNumbers& phase) {
  json list = json::array();
  for (const WorkerNumbers& worker : phase.workers) {
    const double straggler = worker.straggler_wait_seconds.moments().mean();
    list.push_back({{"index", phase.membership.indices[worker.rank]},
                    {"share", worker.share},
                    {"data", number(worker.data_wait_seconds.moments().mean())},
                    {"forward", number(worker.forward_seconds.moments().mean())},
                    {"backward", number(worker.backward_seconds.moments().mean())},
                    {"transfer", number(worker.sync_wait_seconds.moments().mean() - straggler)},
                    {"straggler", number(straggler)}});
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
                   {"begin", seconds(phase.begin_time)},
                   {"seconds", seconds(phase.seconds)},
                   {"workers", membership.workers},
                   {"batch_size", membership.batch_size},
                   {"shares", membership.shares},
                   {"indices", membership.indices},
                   {"reason", membership.reason},
                   {"first_iteration", membership.first_iteration},
                   {"position", membership.position},
                   {"iterations", phase.iterations},
                   {"price", number(phase.price_per_worker_hour)},
                   {"cost", number(phase.cost)},
                   {"waiting_share", number(phase.waiting_share())},
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
                    {"seconds", number(robust.mean)},
                    {"error", number(robust.standard_error)},
                    {"p5", number(one.iteration_seconds.quantile(0.05))},
                    {"p95", number(one.iteration_seconds.quantile(0.95))}});
  }
  return list;
}

json processes_json(const RunHistory& history) {
  json list = json::array();
  for (const ProcessLife& life : history.processes().latest)
    list.push_back({{"role", name_of(life.role)},
                    {"index", life.index},
                    {"pid", life.pid},
                    {"started", seconds(life.started)},
                    {"joined", optional_seconds(life.joined)},
                    {"ended", optional_seconds(life.ended)},
                    {"lost", life.end == LifeEnd::kLost},
                    {"how", life.how}});
  return list;
}

json checkpoints_json(const RunHistory& history) {
  json list = json::array();
  for (const auto& [time, checkpoint] : history.checkpoints().latest)
    list.push_back({{"time", seconds(time)},
                    {"iteration", checkpoint.iteration},
                    {"folder", checkpoint.folder},
                    {"bytes", checkpoint.bytes},
                    {"stall_seconds", number(checkpoint.stall_seconds)},
                    {"write_seconds", number(checkpoint.write_seconds)},
                    {"best", checkpoint.best}});
  return list;
}

json recoveries_json(const RunNumbers& numbers) {
  json list = json::array();
  for (const auto& [time, recovery] : numbers.recoveries.list.latest)
    list.push_back({{"time", seconds(time)},
                    {"lost", recovery.lost},
                    {"iteration", recovery.iteration},
                    {"iterations_lost", recovery.iterations_lost},
                    {"seconds", number(recovery.seconds)}});
  return list;
}

json machines_json(const RunHistory& history) {
  const double now = history.numbers().seconds;
  json list = json::array();
  for (const MachineLife& life : history.machines().latest) {
    json refusals = json::array();
    for (const MachineRefusal& refusal : life.refusals)
      refusals.push_back({{"time", seconds(refusal.time)},
                          {"zone", refusal.zone},
                          {"type", refusal.machine_type},
                          {"reason", refusal.reason}});
    list.push_back({{"name", life.machine.name},
                    {"worker", life.machine.worker},
                    {"type", life.machine.machine_type},
                    {"zone", life.machine.zone},
                    {"spot", life.machine.spot},
                    {"price_per_hour", number(life.machine.price_per_hour)},
                    {"requested", seconds(life.requested)},
                    {"ready", optional_seconds(life.ready)},
                    {"notice", optional_seconds(life.notice)},
                    {"ended", optional_seconds(life.ended)},
                    {"last", name_of(life.machine.change)},
                    {"reason", life.machine.reason},
                    {"refusals", std::move(refusals)},
                    {"minimum_seconds", number(life.machine.minimum_seconds)},
                    {"charged_before", number(life.charged_seconds)},
                    {"seconds", number(life.seconds(now))},
                    {"cost", number(life.cost(now))},
                    {"on_demand_cost", number(life.on_demand_cost(now))}});
  }
  return list;
}

json search_json(const RunNumbers& numbers) {
  json list = json::array();
  for (const auto& [time, step] : numbers.search_steps.latest)
    list.push_back({{"time", seconds(time)},
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
          {"iteration_seconds", number(candidate.iteration_seconds)},
          {"iteration_seconds_low", number(candidate.iteration_seconds_low)},
          {"iteration_seconds_high", number(candidate.iteration_seconds_high)},
          {"epochs", number(candidate.epochs)},
          {"seconds", number(candidate.seconds)},
          {"seconds_low", number(candidate.seconds_low)},
          {"seconds_high", number(candidate.seconds_high)},
          {"cost", number(candidate.cost)},
          {"measured", candidate.measured},
          {"extrapolated", candidate.extrapolated},
          {"pareto", candidate.pareto},
          {"knee", candidate.knee}};
}

json prediction_json(const RunNumbers& numbers) {
  if (!numbers.prediction) return nullptr;
  const auto& [time, prediction] = *numbers.prediction;
  json object = {{"time", seconds(time)},
                 {"iteration", prediction.iteration},
                 {"policy", name_of(prediction.policy)},
                 {"relative", prediction.relative},
                 {"reference_batch", number(prediction.reference_batch)},
                 {"time_form", prediction.time_form},
                 {"statistical_form", prediction.statistical_form},
                 {"noise_scale", number(prediction.noise_scale)},
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
    json object = {{"time", seconds(choice.time)},
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
    list.push_back({{"time", seconds(note.time)},
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
