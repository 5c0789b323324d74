#include "elastic/report/json_report.h"

#include <nlohmann/json.hpp>

#include "elastic/events/json_number.h"
#include "elastic/report/savings_json.h"
#include "elastic/report/search_summary.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::elastic {
namespace {

using json = nlohmann::ordered_json;

// An event as it stands in events.jsonl.
json event_json(const LoggedEvent& logged) {
  return parse_json(to_json_line(logged));
}

template <typename Fact>
json event_json(const Timed<Fact>& timed) {
  return event_json(LoggedEvent{.time = timed.time, .event = timed.fact});
}

template <typename Fact>
json optional_event_json(const std::optional<Timed<Fact>>& timed) {
  return timed ? event_json(*timed) : json(nullptr);
}

template <typename T>
json list_json(const LatestList<T>& list) {
  json latest = json::array();
  for (const T& item : list.latest) latest.push_back(event_json(item));
  return {{"total", list.total}, {"latest", std::move(latest)}};
}

json moments_json(const RunningMoments& moments) {
  return {{"count", moments.count()},
          {"mean", number_or_null(moments.mean())},
          {"standard_error", number_or_null(moments.standard_error())}};
}

json statistics_json(const SeriesStatistics& series) {
  json statistics = moments_json(series.moments());
  statistics["minimum"] = number_or_null(series.minimum());
  statistics["p5"] = number_or_null(series.quantile(0.05));
  statistics["p50"] = number_or_null(series.quantile(0.50));
  statistics["p95"] = number_or_null(series.quantile(0.95));
  statistics["maximum"] = number_or_null(series.maximum());
  const RobustMean robust = series.robust_mean();
  statistics["robust_mean"] = number_or_null(robust.mean);
  statistics["robust_standard_error"] = number_or_null(robust.standard_error);
  statistics["outliers"] = robust.outliers;
  return statistics;
}

json measured_json(const noise::Measured& measured) {
  return {{"value", number_or_null(measured.value)},
          {"low", number_or_null(measured.interval.low)},
          {"high", number_or_null(measured.interval.high)}};
}

json estimate_json(const noise::NoiseEstimate& estimate) {
  return {{"iterations", estimate.iterations},
          {"stable", estimate.stable},
          {"noise_scale", measured_json(estimate.noise_scale)},
          {"gradient_sqr_norm", number_or_null(estimate.moments.gradient_sqr_norm)},
          {"gradient_sqr_norm_error", number_or_null(estimate.standard_errors.gradient_sqr_norm)},
          {"trace_per_sample", number_or_null(estimate.moments.trace_per_sample)},
          {"trace_per_sample_error", number_or_null(estimate.standard_errors.trace_per_sample)}};
}

// With gamma and gamma / K at a configuration.
json noise_json(const std::optional<NoiseNumbers>& noise, double workers, double batch_size) {
  if (!noise) return nullptr;
  json object = {{"noise_phase", noise->phase},
                 {"learning_rate", number_or_null(noise->learning_rate)},
                 {"last_iteration", noise->last_iteration}};
  object.update(estimate_json(noise->estimate));
  const noise::Measured gamma = noise::gamma_at(noise->estimate, workers, batch_size);
  object["gamma"] = measured_json(gamma);
  object["gamma_per_worker"] = measured_json(
      {gamma.value / workers, {gamma.interval.low / workers, gamma.interval.high / workers}});
  return object;
}

json job_noise_json(const RunNumbers& numbers) {
  const bool any = !numbers.phases.empty();
  const double workers = any ? numbers.phases.back().membership.workers : 1.0;
  const double batch_size = any ? numbers.phases.back().membership.batch_size : 1.0;
  json ended = json::array(), groups = json::array();
  for (const NoiseNumbers& phase : numbers.noise.ended_phases())
    ended.push_back(noise_json(phase, workers, batch_size));
  for (const GroupNoise& group : numbers.noise.groups()) {
    json object = {{"name", group.name}};
    object.update(estimate_json(group.estimate));
    groups.push_back(std::move(object));
  }
  return {{"present", noise_json(numbers.noise.numbers(), workers, batch_size)},
          {"ended_phases", std::move(ended)},
          {"groups", std::move(groups)},
          {"half_batch_seconds", numbers.noise.half_batch_seconds()}};
}

// Columns, not rows: a quarter of the size, and what charts want.
json curve_json(const DownsampledCurve& curve) {
  json columns;
  for (const char* name : {"first_iteration", "last_iteration", "epoch", "time", "count", "mean",
                           "minimum", "maximum"})
    columns[name] = json::array();
  for (const CurvePoint& point : curve.points()) {
    const bool any = point.count > 0;
    columns["first_iteration"].push_back(point.first_iteration);
    columns["last_iteration"].push_back(point.last_iteration);
    columns["epoch"].push_back(number_or_null(point.epoch));
    columns["time"].push_back(number_or_null(point.time));
    columns["count"].push_back(point.count);
    columns["mean"].push_back(any ? json(point.mean) : json(nullptr));
    columns["minimum"].push_back(any ? json(point.minimum) : json(nullptr));
    columns["maximum"].push_back(any ? json(point.maximum) : json(nullptr));
  }
  return columns;
}

json worker_json(const WorkerNumbers& worker) {
  return {{"rank", worker.rank},
          {"share", worker.share},
          {"data_wait_seconds", statistics_json(worker.data_wait_seconds)},
          {"forward_seconds", statistics_json(worker.forward_seconds)},
          {"backward_seconds", statistics_json(worker.backward_seconds)},
          {"compute_seconds", statistics_json(worker.compute_seconds)},
          {"sync_wait_seconds", statistics_json(worker.sync_wait_seconds)},
          {"straggler_wait_seconds", statistics_json(worker.straggler_wait_seconds)}};
}

void add_timers(json& object, const IterationTimers& timers) {
  object["iteration_seconds"] = statistics_json(timers.iteration_seconds);
  object["data_wait_seconds"] = statistics_json(timers.data_wait_seconds);
  object["forward_seconds"] = statistics_json(timers.forward_seconds);
  object["backward_seconds"] = statistics_json(timers.backward_seconds);
  object["compute_seconds"] = statistics_json(timers.compute_seconds);
  object["sync_wait_seconds"] = statistics_json(timers.sync_wait_seconds);
  object["transfer_seconds"] = statistics_json(timers.transfer_seconds);
  object["straggler_skew"] = moments_json(timers.straggler_skew);
}

json phase_json(const PhaseNumbers& phase) {
  const double mean_seconds = phase.iteration_seconds.moments().mean();
  json object = {
      {"membership_epoch", phase.membership.membership_epoch},
      {"memberships", phase.memberships},
      {"workers", phase.membership.workers},
      {"batch_size", phase.membership.batch_size},
      {"reason", phase.membership.reason},
      {"rate_factor", phase.membership.rate_factor},
      {"first_iteration", phase.membership.first_iteration},
      {"position", phase.membership.position},
      {"begin_time", phase.begin_time},
      {"seconds", phase.seconds},
      {"price_per_worker_hour", phase.price_per_worker_hour},
      {"cost", phase.cost},
      {"iterations", phase.iterations},
      {"samples", phase.samples},
      {"samples_per_second",
       mean_seconds > 0.0 ? json(phase.membership.batch_size / mean_seconds) : json(nullptr)},
      {"discarded_iterations", phase.discarded_iterations},
      {"waiting_seconds", phase.waiting_seconds()}};
  add_timers(object, phase);
  object["noise"] =
      noise_json(phase.noise.numbers(), phase.membership.workers, phase.membership.batch_size);
  object["by_worker"] = json::array();
  for (const WorkerNumbers& worker : phase.workers)
    object["by_worker"].push_back(worker_json(worker));
  return object;
}

json configurations_json(const RunNumbers& numbers) {
  json list = json::array();
  for (const ConfigurationNumbers& one : numbers.configurations()) {
    json object = {{"workers", one.workers},
                   {"batch_size", one.batch_size},
                   {"shares", one.has_even_shares ? "even" : "unequal"},
                   {"iterations", one.iterations},
                   {"discarded_iterations", one.discarded_iterations}};
    add_timers(object, one);
    list.push_back(std::move(object));
  }
  return list;
}

json phases_json(const RunNumbers& numbers) {
  json phases = json::array();
  for (const PhaseNumbers& phase : numbers.phases) phases.push_back(phase_json(phase));
  return phases;
}

// A resize is a membership whose K or B differs from the one before it. Those among folded phases
// are not known any more.
json resizes_json(const RunNumbers& numbers) {
  json resizes = json::array();
  for (std::size_t i = 1; i < numbers.phases.size(); ++i) {
    const fact::Membership& before = numbers.phases[i - 1].membership;
    const fact::Membership& after = numbers.phases[i].membership;
    if (numbers.phases[i - 1].memberships > 1 || numbers.phases[i].memberships > 1) continue;
    if (before.workers == after.workers && before.batch_size == after.batch_size) continue;
    resizes.push_back({{"time", numbers.phases[i].begin_time},
                       {"iteration", after.first_iteration},
                       {"workers_before", before.workers},
                       {"workers", after.workers},
                       {"batch_size_before", before.batch_size},
                       {"batch_size", after.batch_size},
                       {"reason", after.reason}});
  }
  return resizes;
}

json splits_json(const RunNumbers& numbers) {
  json splits = json::array();
  for (const SplitNumbers& split : numbers.splits)
    splits.push_back({{"split", name_of(split.split)},
                      {"evaluations", split.evaluations},
                      {"seconds", split.seconds},
                      {"last", event_json(split.last)},
                      {"best", event_json(split.best)},
                      {"most_accurate", event_json(split.most_accurate)},
                      {"least_loss", event_json(split.least_loss)},
                      {"loss", curve_json(split.loss)},
                      {"accuracy", curve_json(split.accuracy)}});
  return splits;
}

json checkpoints_json(const CheckpointNumbers& checkpoints) {
  return {{"written", checkpoints.written},
          {"failed", checkpoints.failed},
          {"damaged", checkpoints.damaged},
          {"last", optional_event_json(checkpoints.last)},
          {"best", optional_event_json(checkpoints.best)},
          {"stall_seconds", statistics_json(checkpoints.stall_seconds)},
          {"write_seconds", statistics_json(checkpoints.write_seconds)}};
}

json recoveries_json(const RecoveryNumbers& recoveries) {
  return {{"losses", recoveries.losses},
          {"iterations_lost", recoveries.iterations_lost},
          {"seconds", statistics_json(recoveries.seconds)},
          {"list", list_json(recoveries.list)}};
}

json totals_json(const RunNumbers& numbers) {
  return {{"seconds", numbers.seconds},
          {"start_up_seconds", numbers.start_up_seconds},
          {"cost", numbers.cost},
          {"machines", numbers.bill.machines()},
          {"machines_lost", numbers.bill.lost()},
          {"iterations", numbers.iterations},
          {"epochs", numbers.epochs()},
          {"samples", numbers.position},
          {"iterations_trained", numbers.iterations_trained},
          {"samples_trained", numbers.samples_trained},
          {"iterations_repeated", numbers.iterations_repeated},
          {"samples_per_second", numbers.samples_per_second()}};
}

}  // namespace

std::string to_json_report(const RunNumbers& numbers) {
  // The last start event tells what the job is and where it ran, the environment.
  const Timed<fact::Start> start{
      .time = numbers.starts.total > 0 ? numbers.starts.latest.back().time : 0.0,
      .fact = numbers.start};
  json report = {{"schema_version", kReportSchemaVersion},
                 {"job_id", numbers.start.job_id},
                 {"name", numbers.start.name},
                 {"status", status_name(numbers)},
                 {"reason", numbers.reason},
                 {"exit_code", numbers.status ? json(numbers.exit_code) : json(nullptr)},
                 {"target_reached", optional_event_json(numbers.target_reached)},
                 {"totals", totals_json(numbers)},
                 {"environment", event_json(start)},
                 {"starts", list_json(numbers.starts)},
                 {"model", optional_event_json(numbers.model)},
                 {"phases", phases_json(numbers)},
                 {"configurations", configurations_json(numbers)},
                 {"noise", job_noise_json(numbers)},
                 {"resizes", resizes_json(numbers)},
                 {"training_loss", curve_json(numbers.training_loss)},
                 {"splits", splits_json(numbers)},
                 {"checkpoints", checkpoints_json(numbers.checkpoints)},
                 {"recoveries", recoveries_json(numbers.recoveries)},
                 {"failures", list_json(numbers.failures)},
                 {"rate_decisions", list_json(numbers.rate_decisions)},
                 {"sample_memory", list_json(numbers.sample_memory)},
                 {"device_use", list_json(numbers.device_use)},
                 {"search", search_summary_json(numbers)},
                 {"search_steps", list_json(numbers.search_steps)},
                 {"prediction", optional_event_json(numbers.prediction)},
                 {"savings", savings_json(numbers)},
                 {"machines", list_json(numbers.machines)},
                 {"warnings", list_json(numbers.warnings)}};
  return json_text(report, {.indent = 1, .broken_utf8 = BrokenUtf8::kReplace}) + "\n";
}

void write_json_report(const std::filesystem::path& path, const RunNumbers& numbers) {
  write_file_atomically(path, to_json_report(numbers));
}

}  // namespace scavenger::elastic
