#include "test/study/search/trial_job.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace scavenger::perfmodel {
namespace {

constexpr double kDiscarded = 3.0;
constexpr double kLastSeconds = 10.0;

}  // namespace

void TrialJob::Moments::add(double value, double n, double deviation) {
  const double delta = value - mean;
  squares += (n - 1.0) * deviation * deviation + delta * delta * count * n / (count + n);
  count += n;
  mean += delta * n / count;
}

MeasuredPace TrialJob::Moments::pace() const {
  const double deviation = count > 1.0 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  return {mean, deviation / std::sqrt(count) / mean, static_cast<std::uint64_t>(count)};
}

TrialJob::TrialJob(const TrialTruth& truth, const TrialSetting& setting, std::uint64_t seed)
    : truth_(truth),
      setting_(setting),
      stream_(seed, "trial"),
      loss_stream_(seed, "loss"),
      place_(setting.start) {
  if (!setting.disturbance.empty()) disturbance_begin_ = stream_.below(setting.disturbance.size());
  noise_error_ = stream_.normal();
  const Configuration& start = truth.points[place_].configuration;
  stays_.push_back(
      {.configuration = start, .kind = StayKind::kBase, .dollars_per_second = start.workers});
}

double TrialJob::slowdown_at(double seconds) const {
  const std::span<const double> slower = setting_.disturbance;
  if (slower.empty()) return 1.0;
  const auto second = static_cast<std::size_t>(seconds);
  return slower[(disturbance_begin_ + second) % slower.size()];
}

void TrialJob::spend(double seconds) {
  seconds_ += seconds;
  machine_seconds_ += seconds * truth_.points[place_].configuration.workers;
}

void TrialJob::add_loss(double samples) {
  constexpr std::size_t kMost = 1024;
  const double batch = truth_.points[place_].configuration.global_batch;
  const double smallest = truth_.points.front().configuration.global_batch;
  const double mean = truth_.loss.at(progress_) + truth_.loss.offset * std::log(batch / smallest);
  const double error = truth_.loss.sample_scatter * mean / std::sqrt(samples);
  losses_.push_back({batch, samples, mean + error * loss_stream_.normal()});
  if (losses_.size() < kMost) return;
  std::vector<LossPoint> merged;
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    LossPoint one = losses_[i];
    if (i + 1 < losses_.size() && losses_[i + 1].global_batch == one.global_batch) {
      const LossPoint& next = losses_[++i];
      const double sum = one.samples + next.samples;
      one.loss += (next.loss - one.loss) * next.samples / sum;
      one.samples = sum;
    }
    merged.push_back(one);
  }
  losses_ = std::move(merged);
}

double TrialJob::report_iterations(double expected) const {
  const Stay& stay = stays_.back();
  if (stay.kind != StayKind::kVisit || stay.iterations >= kCloselyWatched) {
    const double interval = std::max(0.2, std::min(5.0, 0.005 * seconds_));
    return std::max(1.0, std::floor(interval / expected));
  }
  if (stay.iterations == 0) return 1.0;
  const double pace = stay.seconds / static_cast<double>(stay.iterations);
  return std::max(1.0, std::floor(kLookReportSeconds / pace));
}

// Seconds that some of so many iterations take beyond the others, all together.
double TrialJob::long_iterations(double iterations, double expected) {
  constexpr double kMost = 100.0;
  if (setting_.long_iterations == 0.0) return 0.0;
  double seconds = 0.0;
  for (double i = 0.0; i < iterations; i += 1.0)
    if (stream_.uniform() < setting_.long_iterations)
      seconds += expected * (std::min(kMost, 1.0 / (1.0 - stream_.uniform())) - 1.0);
  return seconds;
}

void TrialJob::report() {
  const TrialPoint& point = truth_.points[place_];
  const double batch = point.configuration.global_batch;
  const double needed =
      point.epochs * truth_.epochs_factor(progress_, batch) * truth_.samples_per_epoch / batch;
  const double slow = slowdown_at(seconds_);
  const double expected = point.iteration_seconds * slow;
  const double n = report_iterations(expected);
  const double deviation = truth_.iteration_scatter * expected;
  double mean = expected + deviation * stream_.normal() / std::sqrt(n);
  mean = std::max(0.3 * expected, mean);
  // An iteration took long once. The robust mean of a job (elastic/events) leaves it out where
  // there are some to compare it with.
  const bool has_spike = stream_.uniform() < 0.01 * std::min(n, 30.0);
  const double spike =
      (has_spike ? expected * (0.5 - 2.0 * std::log(1.0 - stream_.uniform())) / n : 0.0) +
      long_iterations(n, expected) / n;
  const bool is_seen = static_cast<double>(stays_.back().iterations) + n >= kDiscarded + 4.0;
  const double measured = is_seen ? mean : mean + spike;
  mean += spike;
  const double done = std::min(n, std::max(1e-9, (1.0 - progress_) * needed));
  progress_ = done < n ? 1.0 : progress_ + done / needed;
  spend(done * mean);
  add_loss(done * batch);
  iterations_ += static_cast<std::uint64_t>(n);
  samples_ += n * batch;
  average_noise(n);
  Stay& stay = stays_.back();
  stay.seconds += done * mean;
  if (stay.kind == StayKind::kVisit) longest_report_ = std::max(longest_report_, done * mean);
  const double before = static_cast<double>(stay.iterations);
  stay.iterations += static_cast<std::uint64_t>(n);
  if (before > 0.0)
    stay.after_first =
        (stay.after_first.value_or(0.0) * (before - 1.0) + done * mean) / (before + n - 1.0);
  const double kept = std::min(n, before + n - kDiscarded);
  if (kept < 1.0) return;
  whole_.add(measured, kept, deviation);
  stay.whole = whole_.pace();
  Moments now;
  now.add(measured, kept, deviation);
  latest_.emplace_back(kept * mean, now);
  double together = 0.0;
  Moments last;
  for (auto one = latest_.rbegin(); one != latest_.rend() && together < kLastSeconds; ++one) {
    together += one->first;
    last.add(
        one->second.mean, one->second.count,
        one->second.count > 1.0 ? std::sqrt(one->second.squares / (one->second.count - 1.0)) : 0.0);
  }
  stay.last = together >= kLastSeconds ? last.pace() : *stay.whole;
  if (latest_.size() > 200) latest_.pop_front();
  // A worker alone measures it rarely.
  noise_information_ += n * (point.configuration.workers > 1.0 ? 1.0 : 0.05);
  if (const auto known = noise()) trend_.add(samples_, *known);
}

// As the product's averages forget (docs/design/noise.md).
void TrialJob::average_noise(double iterations) {
  if (truth_.stages.empty()) return;
  constexpr double kLongestWindow = 1000.0, kWindowShare = 0.5;
  const double window =
      std::min(kLongestWindow, kWindowShare * static_cast<double>(iterations_) + 1.0);
  const double kept = std::exp(-iterations / window);
  const TrialStage& stage = truth_.stage_at(progress_);
  averages_.gradient = kept * averages_.gradient + (1.0 - kept) * stage.gradient;
  averages_.trace = kept * averages_.trace + (1.0 - kept) * stage.trace;
}

void TrialJob::move_to(std::size_t point, StayKind kind) {
  const double workers = truth_.points[point].configuration.workers;
  const double more = std::max(0.0, workers - truth_.points[place_].configuration.workers);
  // The way back has its machines still: those that a visit does not need wait for its end.
  const bool is_way_back = stays_.back().kind == StayKind::kVisit;
  const double start_dollars = is_way_back ? 0.0 : setting_.start_seconds * more;
  machine_seconds_ += start_dollars;
  place_ = point;
  const double change = setting_.change_seconds * (0.5 + stream_.uniform());
  spend(change);
  stays_.push_back({.configuration = truth_.points[point].configuration,
                    .kind = kind,
                    .dollars_per_second = workers,
                    .change_seconds = change,
                    .start_dollars = start_dollars});
  whole_ = {};
  latest_.clear();
  if (kind == StayKind::kVisit) longest_report_ = 0.0;
}

double TrialJob::mean_change_seconds() const {
  double sum = 0.0, count = 0.0;
  for (std::size_t i = 1; i < stays_.size(); ++i) {
    sum += stays_[i].change_seconds;
    ++count;
  }
  return count > 0.0 ? sum / count : 0.15;
}

std::optional<MeasuredNoise> TrialJob::noise() const {
  if (noise_information_ < 3.0) return std::nullopt;
  const double first = truth_.first_noise_share;
  const double grown = first + (1.0 - first) * (1.0 - std::exp(-progress_ / 0.05));
  const double error = 1.5 / std::sqrt(noise_information_);
  const double now =
      averages_.gradient > 0.0 ? averages_.trace / averages_.gradient : truth_.noise_scale * grown;
  const double scale = now * std::exp(error * noise_error_);
  return MeasuredNoise{scale, scale * std::exp(-1.96 * error), scale * std::exp(1.96 * error)};
}

}  // namespace scavenger::perfmodel
