#include "elastic/page/prometheus_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "elastic/history/evaluation_metric.h"

namespace scavenger::elastic {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0.0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string label_text(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

class Exposition final {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP scavenger_{0} {1}\n# TYPE scavenger_{0} {2}\n", name, help, type);
  }
  void sample(double value, const Labels& labels = {}, std::string_view suffix = "") {
    std::string inside;
    for (const auto& [key, text] : labels)
      inside += fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", key, label_text(text));
    text_ += fmt::format("scavenger_{}{}{} {}\n", name_, suffix,
                         inside.empty() ? "" : "{" + inside + "}", value_text(value));
  }
  void gauge(std::string_view name, std::string_view help, double value) {
    family(name, "gauge", help);
    sample(value);
  }
  void counter(std::string_view name, std::string_view help, double value) {
    family(name, "counter", help);
    sample(value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

void add_job(Exposition& out, const RunHistory& history) {
  const RunNumbers& numbers = history.numbers();
  const fact::Start& start = numbers.start;
  out.family("job_info", "gauge", "Which job this is; always 1.");
  out.sample(1, {{"name", start.name},
                 {"job_id", start.job_id},
                 {"version", start.version},
                 {"commit", start.commit}});
  out.gauge("job_ended", "1 once the job has ended.", numbers.status ? 1 : 0);
  out.gauge("job_paused", "1 while it stands still since somebody asked for it.",
            numbers.paused_since ? 1 : 0);
  out.counter("job_seconds_total", "Seconds of the job's life, over resumes.", numbers.seconds);
  out.counter("cost_dollars_total", "What the workers have cost.", numbers.cost);
  out.counter("iterations_trained_total", "Iterations done, with those that were done again.",
              static_cast<double>(numbers.iterations_trained));
  out.counter("samples_trained_total", "Samples trained on, with those that were done again.",
              static_cast<double>(numbers.samples_trained));
  out.gauge("iteration", "Iterations complete, as the weights know them.",
            static_cast<double>(numbers.iterations));
  out.gauge("epoch", "Passes over the training data.", numbers.epochs());
}

void add_cluster(Exposition& out, const RunNumbers& numbers) {
  if (!numbers.phases.empty()) {
    const fact::Membership& membership = numbers.phases.back().membership;
    out.gauge("workers", "K, the workers of the membership.", membership.workers);
    out.gauge("batch_size", "B, the samples of an iteration.", membership.batch_size);
    out.family("worker_batch_size", "gauge", "b_k, the samples of a worker.");
    for (std::size_t rank = 0; rank < membership.shares.size(); ++rank)
      out.sample(membership.shares[rank], {{"rank", std::to_string(rank)}});
  }
  out.counter("memberships_total", "Memberships so far: the first, and each change of the cluster.",
              static_cast<double>(numbers.phases.size()));
  out.counter("process_losses_total", "Processes that were lost.",
              static_cast<double>(numbers.recoveries.losses));
  out.counter("warnings_total", "Warnings.", static_cast<double>(numbers.warnings.total));
  out.family("checkpoints_total", "counter", "Checkpoints by how they went.");
  out.sample(static_cast<double>(numbers.checkpoints.written), {{"result", "written"}});
  out.sample(static_cast<double>(numbers.checkpoints.failed), {{"result", "failed"}});
}

void add_pace(Exposition& out, const RunHistory& history) {
  const RecentPace& pace = history.pace();
  if (!pace.known()) return;
  out.gauge("training_loss", "Mean over the last seconds.", pace.loss());
  out.gauge("samples_per_second", "While it iterates, over the last seconds.",
            pace.samples_per_second());
  out.family("iteration_part_seconds", "gauge",
             "Parts of an iteration, means over the workers and the last seconds.");
  out.sample(pace.compute_seconds(), {{"part", "compute"}});
  out.sample(pace.sync_wait_seconds(), {{"part", "exposed_synchronisation"}});
}

void add_iteration_seconds(Exposition& out, const RunNumbers& numbers) {
  out.family("iteration_seconds", "summary", "Seconds of an iteration at each K and B.");
  for (const ConfigurationNumbers& one : numbers.configurations()) {
    const SeriesStatistics& series = one.iteration_seconds;
    const Labels labels = {{"workers", std::to_string(one.workers)},
                           {"batch_size", std::to_string(one.batch_size)},
                           {"shares", one.has_even_shares ? "even" : "unequal"}};
    for (const double quantile : {0.05, 0.5, 0.95}) {
      Labels with_quantile = labels;
      with_quantile.emplace_back("quantile", fmt::format("{}", quantile));
      out.sample(series.quantile(quantile), with_quantile);
    }
    const auto count = static_cast<double>(series.moments().count());
    out.sample(series.moments().mean() * count, labels, "_sum");
    out.sample(count, labels, "_count");
  }
}

void add_evaluations(Exposition& out, const RunNumbers& numbers) {
  out.family("evaluation", "gauge", "The last evaluation's value of each metric.");
  for (const SplitNumbers& split : numbers.splits)
    for (const MetricEntry& metric : kMetrics)
      if (const auto value = metric_of(split.last.fact, metric.word))
        out.sample(*value, {{"split", std::string(name_of(split.split))},
                            {"metric", std::string(metric.name)}});
}

void add_noise(Exposition& out, const RunNumbers& numbers) {
  const std::optional<NoiseNumbers> noise = numbers.noise.numbers();
  if (!noise) return;
  out.gauge("noise_scale_samples", "B_s, the gradient noise scale.",
            noise->estimate.noise_scale.value);
  out.gauge("noise_stable", "1 where it has settled in this phase of the learning rate.",
            noise->estimate.stable ? 1 : 0);
}

void add_search(Exposition& out, const RunNumbers& numbers) {
  if (numbers.search_steps.latest.empty()) return;
  const fact::SearchStep& step = numbers.search_steps.latest.back().fact;
  out.family("search_phase", "gauge", "The phase that the search is in; always 1.");
  out.sample(1, {{"phase", std::string(name_of(step.phase))}});
}

}  // namespace

std::string prometheus_text(const RunHistory& history) {
  const RunNumbers& numbers = history.numbers();
  Exposition out;
  add_job(out, history);
  add_cluster(out, numbers);
  add_pace(out, history);
  add_iteration_seconds(out, numbers);
  add_evaluations(out, numbers);
  add_noise(out, numbers);
  add_search(out, numbers);
  return out.take();
}

}  // namespace scavenger::elastic
