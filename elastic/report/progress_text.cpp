#include "elastic/report/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "elastic/history/evaluation_metric.h"
#include "elastic/history/time_to_go.h"
#include "elastic/report/event_text.h"
#include "elastic/report/quantity_text.h"
#include "elastic/report/savings.h"
#include "elastic/report/search_summary.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

constexpr std::size_t kMostNaive = 3;  // configurations that a job's end is compared with

std::string followed_metric_text(const fact::Start& start, const fact::Evaluation& evaluation) {
  const Metric metric = followed_metric(start, evaluation);
  const std::optional<double> value = metric_of(evaluation, metric);
  return value ? format_metric(evaluation.split, metric, *value) : "";
}

std::string progress_part(const RunNumbers& numbers) {
  const fact::Limits& limits = numbers.start.limits;
  std::string text = fmt::format("epoch {:.2f}", numbers.epochs());
  if (limits.max_epochs > 0.0) text += fmt::format(" of {:g}", limits.max_epochs);
  text += "  iteration " + format_count(numbers.iterations);
  if (limits.max_iterations > 0) text += " of " + format_count(limits.max_iterations);
  return text;
}

std::string quality_part(const RunNumbers& numbers, const RecentPace& pace) {
  std::string text = pace.known() ? fmt::format("loss {:.4f}", pace.loss()) : "";
  const SplitNumbers* split = followed_split(numbers);
  if (split != nullptr)
    text += (text.empty() ? "" : "  ") + followed_metric_text(numbers.start, split->last.fact);
  if (numbers.start.target)
    text +=
        fmt::format("{}(target {})", text.empty() ? "" : " ",
                    format_metric_value(numbers.start.target->metric, numbers.start.target->value));
  return text;
}

std::string speed_part(const RunNumbers& numbers, const RecentPace& pace) {
  if (numbers.phases.empty()) return "starting";
  const fact::Membership& membership = numbers.phases.back().membership;
  std::string text = fmt::format("K {}  B {}", membership.workers, membership.batch_size);
  if (numbers.paused_since) return "paused  " + text;
  if (pace.known())
    text = fmt::format("{} samples/s  {}  compute {}  sync {}",
                       format_count(static_cast<std::uint64_t>(pace.samples_per_second())), text,
                       format_brief_seconds(pace.compute_seconds()),
                       format_brief_seconds(pace.sync_wait_seconds()));
  return text;
}

// " (75 s to 90 s, $0.0094 to $0.011)" of a time whose cost grows with it; empty where it says no
// more than the value itself.
std::string interval_text(double seconds, double low, double high, double cost) {
  const std::string from = format_duration(low);
  const std::string to = std::isfinite(high) ? format_duration(high) : "open";
  if (from == to) return {};
  if (!(cost > 0.0 && seconds > 0.0)) return fmt::format(" ({} to {})", from, to);
  const std::string most = std::isfinite(high) ? format_dollars(cost * high / seconds) : "open";
  return fmt::format(" ({} to {}, {} to {})", from, to, format_dollars(cost * low / seconds), most);
}

std::string effort_part(const RunNumbers& numbers, double seconds) {
  std::string text = time_and_cost(numbers, seconds, numbers.cost_at(seconds));
  if (const std::optional<TimeToGo> left = estimate_time_to_go(numbers))
    text += fmt::format(
        "  to go {}{}{}", left->at_most ? "at most " : "",
        time_and_cost(numbers, left->seconds, left->cost),
        interval_text(left->seconds, left->seconds_low, left->seconds_high, left->cost));
  return text;
}

std::string search_part(const RunNumbers& numbers) {
  if (numbers.search_steps.latest.empty()) return {};
  const fact::SearchStep& step = numbers.search_steps.latest.back().fact;
  std::string phase(name_of(step.phase));
  std::replace(phase.begin(), phase.end(), '_', ' ');
  const fact::Membership* const now =
      numbers.phases.empty() ? nullptr : &numbers.phases.back().membership;
  const bool is_there =
      now != nullptr && now->workers == step.workers && now->batch_size == step.batch_size;
  return fmt::format("search {}{} K {}  B {}", phase, is_there ? "" : ", next", step.workers,
                     step.batch_size);
}

// Where it matters, or is known well.
std::string noise_part(const RunNumbers& numbers) {
  const std::optional<NoiseNumbers> noise = numbers.noise.numbers();
  if (!noise || (!noise->estimate.stable && numbers.search_steps.latest.empty())) return {};
  const noise::Measured& scale = noise->estimate.noise_scale;
  if (!std::isfinite(scale.value)) return "noise scale not known yet";
  return fmt::format("noise scale {:.3g} ({:.3g} to {:.3g})", scale.value, scale.interval.low,
                     scale.interval.high);
}

std::string prediction_part(const RunNumbers& numbers) {
  const std::optional<PredictedToGo> left = predicted_to_go(numbers);
  if (!left) return {};
  return fmt::format(
      "to target {}{}", time_and_cost(numbers, left->seconds, left->cost),
      interval_text(left->seconds, left->seconds_low, left->seconds_high, left->cost));
}

std::string outlook_part(const RunNumbers& numbers) {
  std::string text;
  for (const std::string& part :
       {search_part(numbers), noise_part(numbers), prediction_part(numbers)})
    if (!part.empty()) text += (text.empty() ? "" : "  ") + part;
  return text;
}

std::string outcome(const RunNumbers& numbers) {
  if (numbers.target_reached && numbers.status == Status::kTargetReached) {
    const fact::TargetReached& reached = numbers.target_reached->fact;
    return "target reached: " + format_metric(reached.split, reached.metric, reached.value);
  }
  if (!numbers.status) return "not ended";
  std::string status(name_of(*numbers.status));
  std::replace(status.begin(), status.end(), '_', ' ');
  return numbers.reason.empty() ? status : fmt::format("{}: {}", status, printable(numbers.reason));
}

void append_best(const RunNumbers& numbers, std::vector<std::string>& lines) {
  const SplitNumbers* split = followed_split(numbers);
  if (split == nullptr) return;
  const fact::Evaluation& best = split->best.fact;
  lines.push_back(fmt::format(
      "  best      {} at iteration {} (last {})", followed_metric_text(numbers.start, best),
      format_count(best.iteration), followed_metric_text(numbers.start, split->last.fact)));
}

// Checkpoints are judged by the job's metric, or else by the loss, and not every evaluation has
// one: so the best that is kept need not be that of the best evaluation.
void append_weights(const RunNumbers& numbers, const std::string& folder,
                    std::vector<std::string>& lines) {
  const auto& last = numbers.checkpoints.last;
  const auto& best = numbers.checkpoints.best;
  if (!last) return;
  std::string line = fmt::format("  weights   {}/{}", folder, last->fact.folder);
  if (best && best->fact.iteration != last->fact.iteration)
    line += fmt::format(" (best that is kept: iteration {})", format_count(best->fact.iteration));
  lines.push_back(std::move(line));
}

void append_machines(const RunNumbers& numbers, std::vector<std::string>& lines) {
  if (numbers.bill.is_empty()) return;
  lines.push_back(fmt::format("  machines  {}, of them {} were taken away", numbers.bill.machines(),
                              numbers.bill.lost()));
}

// "12 % less", "3 % more".
std::string less_text(double part_saved) {
  return fmt::format("{:.0f} % {}", std::abs(part_saved) * 100.0,
                     part_saved < 0.0 ? "more" : "less");
}

// "12 % less time (3 % more to 25 % less)", with the 95 % interval where there is one.
std::string difference_text(const PartSaved& saved, const char* of_what) {
  std::string text = fmt::format("{} {}", less_text(saved.value), of_what);
  if (std::isfinite(saved.low) && std::isfinite(saved.high))
    text += fmt::format(" ({} to {})", less_text(saved.low), less_text(saved.high));
  return text;
}

// What it would have cost otherwise.
void append_savings(const RunNumbers& numbers, std::vector<std::string>& lines) {
  if (const auto spot = savings_against_on_demand(numbers))
    lines.push_back(fmt::format(
        "  on demand {} for the same machine seconds, of which spot machines saved {} ({:.0f} %)",
        format_dollars(spot->on_demand_cost), format_dollars(spot->on_demand_cost - spot->cost),
        100.0 * part_saved(spot->cost, spot->on_demand_cost)));
  const auto saved = savings_against_naive(numbers);
  if (!saved) return;
  const char* label = "  saved     ";
  for (std::size_t i = 0; i < std::min(saved->naive.size(), kMostNaive); ++i) {
    const NaiveConfiguration& one = saved->naive[i];
    lines.push_back(fmt::format(
        "{}{}, {} than K {}  B {}, {}, is predicted to take{}", label,
        difference_text(one.seconds_saved, "time"), difference_text(one.cost_saved, "cost"),
        one.predicted.workers, one.predicted.batch_size, one.why,
        saved->is_measured ? ""
                           : fmt::format(" (by K {}  B {}, predicted too)", saved->used.workers,
                                         saved->used.batch_size)));
    label = "            ";
  }
}

void append_problems(const RunNumbers& numbers, std::vector<std::string>& lines) {
  if (numbers.failures.total + numbers.warnings.total == 0) return;
  const std::uint64_t checkpoint_problems =
      numbers.checkpoints.failed + numbers.checkpoints.damaged;
  lines.push_back(fmt::format(
      "  problems  processes lost: {}, checkpoints failed or damaged: {}, "
      "warnings: {}",
      numbers.failures.total - checkpoint_problems, checkpoint_problems, numbers.warnings.total));
}

}  // namespace

std::string longer_job(Status status) {
  switch (status) {
    case Status::kTargetReached:
      return "stop.target.value=...";
    case Status::kMaxEpochs:
      return "stop.max_epochs=...";
    case Status::kMaxIterations:
      return "stop.max_iterations=...";
    case Status::kMaxTime:
      return "stop.max_seconds=...";
    case Status::kMaxCost:
      return "stop.max_cost=...";
    case Status::kEarlyStopping:
      return "stop.early_stopping=null";
    case Status::kInterrupted:
    case Status::kFailed:
      return {};
  }
  return {};
}

StatusText status_text(const RunNumbers& numbers, const RecentPace& pace, double seconds) {
  return {.progress = progress_part(numbers),
          .quality = quality_part(numbers, pace),
          .speed = speed_part(numbers, pace),
          .effort = effort_part(numbers, seconds),
          .outlook = outlook_part(numbers)};
}

std::string end_line(const RunNumbers& numbers) {
  return fmt::format("{}: {} after {:.2f} epochs, {} iterations, {}", printable(numbers.start.name),
                     outcome(numbers), numbers.epochs(), format_count(numbers.iterations),
                     format_duration(numbers.seconds));
}

std::vector<std::string> closing_text(const RunNumbers& numbers, const RunPlace& place) {
  std::vector<std::string> lines = {end_line(numbers)};
  append_best(numbers, lines);
  lines.push_back(
      fmt::format("  time      {}, of it start-up {}; {} samples/s",
                  format_duration(numbers.seconds), format_duration(numbers.start_up_seconds),
                  format_count(static_cast<std::uint64_t>(numbers.samples_per_second()))));
  if (numbers.start.price_per_worker_hour > 0.0 || numbers.cost > 0.0)
    lines.push_back(fmt::format("  cost      {} at {} per worker and hour",
                                format_dollars(numbers.cost),
                                format_dollars(numbers.start.price_per_worker_hour)));
  append_machines(numbers, lines);
  if (const auto search = summarise_search(numbers))
    lines.push_back("  search    " + search_sentence(*search));
  append_savings(numbers, lines);
  append_problems(numbers, lines);
  lines.push_back("  run       " + place.folder +
                  (place.has_report ? fmt::format(" (numbers: {}/report.json)", place.folder)
                                    : ", without a report"));
  append_weights(numbers, place.folder, lines);
  const bool can_go_on =
      numbers.status == Status::kInterrupted || numbers.status == Status::kFailed;
  const std::string resume = "scavenger-train --resume " + shell_quoted(place.folder);
  if (can_go_on && numbers.checkpoints.last) lines.push_back("  go on     " + resume);
  const bool has_reached = numbers.status == Status::kTargetReached;
  const std::string more = numbers.status ? longer_job(*numbers.status) : "";
  if (!has_reached && !more.empty())
    lines.push_back(fmt::format("  train on  {} --set {}", resume, more));
  return lines;
}

}  // namespace scavenger::elastic
