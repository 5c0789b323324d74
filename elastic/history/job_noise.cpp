#include "elastic/history/job_noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

// Iterations since the last measurement; 1 if there was none, or if iterations were lost since.
std::uint32_t spacing_after(std::optional<std::uint64_t> last, std::uint64_t iteration) {
  if (!last || iteration <= *last) return 1;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(iteration - *last, std::numeric_limits<std::uint32_t>::max()));
}

// The schedule's. What the rule for B makes of it changes with the batch that it suits, and back
// again: that is no step of the schedule, after which older averages would say nothing any more.
double scheduled_rate(const fact::Membership& membership, double learning_rate) {
  return learning_rate / membership.rate_factor;
}

std::optional<perfmodel::MeasuredNoise> scale_of(const std::optional<NoiseNumbers>& numbers) {
  if (!numbers || std::isnan(numbers->estimate.noise_scale.value)) return std::nullopt;
  constexpr double kAllNoise = 1e12;  // B_s where the gradient is nothing else
  const noise::Measured& scale = numbers->estimate.noise_scale;
  return perfmodel::MeasuredNoise{std::clamp(scale.value, 1e-6, kAllNoise),
                                  std::clamp(scale.interval.low, 1e-6, kAllNoise),
                                  std::clamp(scale.interval.high, 1e-6, kAllNoise)};
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

void NoiseMeter::add(const fact::Membership& membership, const fact::Iterations& iterations) {
  if (iterations.workers.size() != membership.shares.size()) return;  // a part of them is unknown
  const double rate = scheduled_rate(membership, iterations.learning_rate);
  if (membership.workers == 1) {
    for (const fact::HalfBatches& halves : iterations.half_batches) {
      parts_ = {{static_cast<double>(halves.first_samples), sum(halves.first_sqr_norm)},
                {static_cast<double>(halves.second_samples), sum(halves.second_sqr_norm)}};
      add_norms({parts_, sum(halves.whole_sqr_norm), rate}, halves.iteration);
    }
    return;
  }
  parts_.resize(membership.workers);
  for (std::size_t i = 0; i < iterations.count; ++i) {
    for (std::size_t k = 0; k < parts_.size(); ++k)
      parts_[k] = {static_cast<double>(membership.shares[k]),
                   iterations.workers[k].local_sqr_norm[i]};
    add_norms({parts_, iterations.global_sqr_norm[i], rate}, iterations.first + i);
  }
}

void NoiseMeter::add_norms(const noise::NoiseIteration& iteration, std::uint64_t index) {
  noise::NoiseIteration spaced = iteration;
  spaced.spacing = spacing_after(last_, index);
  if (estimator_.add(spaced)) last_ = index;
}

std::vector<fact::Exact> NoiseMeter::state() const {
  std::vector<fact::Exact> numbers;
  for (const double number : estimator_.state()) numbers.push_back({number});
  numbers.push_back({last_ ? static_cast<double>(*last_) : -1.0});
  return numbers;
}

void NoiseMeter::restore(const std::vector<fact::Exact>& state) {
  SCAVENGER_CHECK(state.size() == kStateNumbers);
  std::array<double, noise::NoiseEstimator::kStateNumbers> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = state[i].value;
  estimator_.restore(numbers);
  const double last = state.back().value;
  last_.reset();
  if (last >= 0.0 && last < 0x1p53) last_ = static_cast<std::uint64_t>(last);
}

std::optional<NoiseNumbers> NoiseMeter::numbers() const {
  const auto estimate = estimator_.estimate();
  if (!estimate) return std::nullopt;
  return NoiseNumbers{estimator_.phase(), estimator_.phase_learning_rate(), last_.value_or(0) + 1,
                      *estimate};
}

void JobNoise::set_groups(std::vector<std::string> names) {
  if (names == group_names_) return;
  group_names_ = std::move(names);
  groups_.assign(group_names_.size(), noise::NoiseEstimator{});
}

void JobNoise::add(const fact::Membership& membership, const fact::Iterations& iterations) {
  const auto before = meter_.numbers();
  meter_.add(membership, iterations);
  follow(membership, iterations.count, before);
  for (const fact::HalfBatches& halves : iterations.half_batches)
    half_batch_seconds_ += halves.seconds;
  add_halves(iterations.half_batches, scheduled_rate(membership, iterations.learning_rate));
}

void JobNoise::add(const fact::Membership& membership, const fact::IterationBlock& block) {
  const auto before = meter_.numbers();
  meter_.restore(block.job_noise);
  follow(membership, block.count, before);
  half_batch_seconds_ += block.half_batch_seconds;
  add_halves(block.half_batches, scheduled_rate(membership, block.learning_rate));
}

// After so many more iterations. Where the learning rate has left the phase in which the noise was
// `before`, a trend begins anew.
void JobNoise::follow(const fact::Membership& membership, std::uint64_t iterations,
                      const std::optional<NoiseNumbers>& before) {
  samples_ += static_cast<double>(iterations) * membership.batch_size;
  const auto after = meter_.numbers();
  if (before && after && after->phase != before->phase) {
    ended_.push_back(*before);
    if (ended_.size() > kMaxListed) ended_.erase(ended_.begin());
    trend_.restart();
  }
  if (const auto now = scale_of(after)) trend_.add(samples_, *now);
}

std::optional<perfmodel::MeasuredNoise> JobNoise::scale() const {
  return scale_of(meter_.numbers());
}

void JobNoise::add_halves(const std::vector<fact::HalfBatches>& half_batches,
                          double learning_rate) {
  for (const fact::HalfBatches& halves : half_batches) {
    // Rare, so each is a batch mean of its own.
    const std::uint32_t spacing = std::max(spacing_after(last_halves_, halves.iteration),
                                           noise::NoiseOptions{}.batch_mean_iterations);
    last_halves_ = halves.iteration;
    for (std::size_t g = 0; g < groups_.size() && g < halves.whole_sqr_norm.size(); ++g) {
      const noise::PartNorm parts[] = {
          {static_cast<double>(halves.first_samples), halves.first_sqr_norm[g]},
          {static_cast<double>(halves.second_samples), halves.second_sqr_norm[g]}};
      groups_[g].add({parts, halves.whole_sqr_norm[g], learning_rate, spacing});
    }
  }
}

std::vector<GroupNoise> JobNoise::groups() const {
  std::vector<GroupNoise> groups;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (const auto estimate = groups_[g].estimate()) groups.push_back({group_names_[g], *estimate});
  return groups;
}

std::optional<fact::NoiseStable> JobNoise::news() const {
  const auto now = numbers();
  if (!now || !now->estimate.stable || now->phase <= announced_phase_) return std::nullopt;
  const noise::Measured& scale = now->estimate.noise_scale;
  return fact::NoiseStable{now->last_iteration, now->phase,         now->learning_rate,
                           scale.value,         scale.interval.low, scale.interval.high};
}

}  // namespace scavenger::elastic
