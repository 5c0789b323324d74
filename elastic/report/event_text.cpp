#include "elastic/report/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <variant>

#include "elastic/history/evaluation_metric.h"
#include "elastic/report/quantity_text.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

std::string process_name(Role role, std::uint32_t index) {
  return fmt::format("{} {}", name_of(role), index);
}

EventText text_of(const fact::Membership& membership, const RunNumbers&) {
  return {Attention::kMilestone,
          fmt::format("K {}  B {} from iteration {}: {}", membership.workers, membership.batch_size,
                      format_count(membership.first_iteration), printable(membership.reason))};
}

EventText text_of(const fact::Evaluation& evaluation, const RunNumbers& numbers) {
  std::string metrics;
  for (const MetricEntry& metric : kMetrics)
    if (const std::optional<double> value = metric_of(evaluation, metric.word))
      metrics += "  " + format_metric(evaluation.split, metric.word, *value);
  return {Attention::kMilestone,
          fmt::format("epoch {:.2f}  iteration {}{}  ({})", evaluation.epoch,
                      format_count(evaluation.iteration), metrics,
                      time_and_cost(numbers, numbers.seconds, numbers.cost))};
}

EventText text_of(const fact::Checkpoint& checkpoint, const RunNumbers&) {
  return {Attention::kDetail,
          fmt::format("checkpoint of iteration {}: {}, {}{}", format_count(checkpoint.iteration),
                      printable(checkpoint.folder), format_bytes(checkpoint.bytes),
                      checkpoint.best ? ", the best so far" : "")};
}

EventText text_of(const fact::CheckpointFailed& failed, const RunNumbers&) {
  return {Attention::kProblem,
          fmt::format("no checkpoint of iteration {}: {}", format_count(failed.iteration),
                      printable(failed.reason))};
}

EventText text_of(const fact::CheckpointDamaged& damaged, const RunNumbers&) {
  return {Attention::kProblem, fmt::format("checkpoint {} is damaged and passed over: {}",
                                           printable(damaged.folder), printable(damaged.reason))};
}

// It is told again while the pause lasts.
EventText text_of(const fact::Pause& pause, const RunNumbers& numbers) {
  const std::string iteration = format_count(pause.iteration);
  if (!pause.paused) return {Attention::kMilestone, "goes on from iteration " + iteration};
  if (numbers.paused_since != numbers.seconds) return {};
  return {Attention::kMilestone,
          fmt::format("paused after iteration {}, until scavenger-ctl RUN continue", iteration)};
}

EventText text_of(const fact::Recovery& recovery, const RunNumbers&) {
  std::string text =
      fmt::format("went on from iteration {} after {}", format_count(recovery.iteration),
                  format_brief_seconds(recovery.seconds));
  if (recovery.iterations_lost > 0)
    text += fmt::format(", {} iterations lost", format_count(recovery.iterations_lost));
  return {Attention::kMilestone, text};
}

EventText text_of(const fact::ProcessLost& lost, const RunNumbers&) {
  std::string text = fmt::format("lost {} (pid {}): {}", process_name(lost.role, lost.index),
                                 lost.pid, printable(lost.how));
  // Its last words, one line each, so that nobody has to look for the file first.
  std::string_view tail = lost.log_tail;
  while (!tail.empty()) {
    const std::size_t end = std::min(tail.find('\n'), tail.size());
    text += "\n    | " + printable(tail.substr(0, end));
    tail.remove_prefix(std::min(end + 1, tail.size()));
  }
  return {Attention::kProblem, text};
}

// As the user's language prints it. It comes once, and before what the job says of its end.
EventText text_of(const fact::UserError& error, const RunNumbers&) {
  std::string text;
  std::string_view rest = error.traceback;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (!text.empty()) text += '\n';
    text += printable(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {Attention::kProblem, text};
}

EventText text_of(const fact::DeviceUse& use, const RunNumbers&) {
  std::string text =
      fmt::format("worker {} has used {} of the {} of {}, and reserved {}", use.worker,
                  format_bytes(use.most_used_bytes), format_bytes(use.total_bytes),
                  printable(use.device), format_bytes(use.most_reserved_bytes));
  if (use.graphs > 0) text += fmt::format("; CUDA graphs: {}", use.graphs);
  return {Attention::kDetail, text};
}

EventText text_of(const fact::ScriptValues& logged, const RunNumbers&) {
  std::string text = "iteration " + format_count(logged.iteration) + " ";
  for (std::size_t i = 0; i < logged.names.size(); ++i)
    text += fmt::format(" {} {:.6g}", printable(logged.names[i]), logged.values[i]);
  return {Attention::kMilestone, text};
}

EventText text_of(const fact::ProcessJoined& joined, const RunNumbers&) {
  return {Attention::kDetail,
          fmt::format("{} joined after {}", process_name(joined.role, joined.index),
                      format_duration(joined.start_seconds))};
}

EventText text_of(const fact::NoiseStable& stable, const RunNumbers&) {
  return {Attention::kDetail,
          fmt::format("gradient noise is stable: noise scale {:.3g} samples ({:.3g} to {})",
                      stable.noise_scale, stable.noise_scale_low,
                      std::isfinite(stable.noise_scale_high)  // null in the log: no upper end
                          ? fmt::format("{:.3g}", stable.noise_scale_high)
                          : "inf")};
}

EventText text_of(const fact::RateDecision& decision, const RunNumbers&) {
  const std::string noise = std::isfinite(decision.noise_scale)
                                ? fmt::format("noise scale {:.3g} samples", decision.noise_scale)
                                : "the noise scale is not known yet";
  return {Attention::kDetail, fmt::format("learning rate x {:.4g} for B {}: {}", decision.factor,
                                          decision.batch_size, noise)};
}

EventText text_of(const fact::Machine& machine, const RunNumbers&) {
  const bool is_bad = machine.change == fact::MachineChange::kLost ||
                      machine.change == fact::MachineChange::kRefused;
  std::string text = fmt::format("machine {} of worker {}: {}", printable(machine.name),
                                 machine.worker, name_of(machine.change));
  if (!machine.reason.empty()) text += " (" + printable(machine.reason) + ")";
  return {is_bad ? Attention::kProblem : Attention::kDetail, text};
}

EventText text_of(const fact::SearchStep& step, const RunNumbers&) {
  return {Attention::kMilestone, fmt::format("search: K {}  B {}: {}", step.workers,
                                             step.batch_size, printable(step.reason))};
}

EventText text_of(const fact::VmStep& step, const RunNumbers&) {
  return {Attention::kMilestone, fmt::format("machines: {} x {}: {}", step.workers,
                                             printable(step.machine_type), printable(step.reason))};
}

EventText text_of(const fact::Warning& warning, const RunNumbers&) {
  return {Attention::kProblem, "warning: " + printable(warning.text)};
}

EventText text_of(const fact::Start& start, const RunNumbers& numbers) {
  if (!start.resumed_from_iteration) return {};
  return {Attention::kMilestone,
          fmt::format("resumed from iteration {}, after {}",
                      format_count(*start.resumed_from_iteration),
                      time_and_cost(numbers, numbers.seconds, numbers.cost))};
}

// Iterations show in the status; the target and the end in the closing block; a process that is
// started shows once it joins.
template <typename Fact>
EventText text_of(const Fact&, const RunNumbers&) {
  return {};
}

}  // namespace

std::string time_and_cost(const RunNumbers& numbers, double seconds, double cost) {
  if (numbers.start.price_per_worker_hour == 0.0 && cost == 0.0) return format_duration(seconds);
  return fmt::format("{}  {}", format_duration(seconds), format_dollars(cost));
}

EventText event_text(const LoggedEvent& logged, const RunNumbers& numbers) {
  return std::visit([&](const auto& fact) { return text_of(fact, numbers); }, logged.event);
}

}  // namespace scavenger::elastic
