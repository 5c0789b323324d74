#include "perfmodel/search/measured_progress.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "perfmodel/fit/matrix.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kLeastPower = -1.2;
constexpr double kPowerStep = 0.025;
constexpr std::size_t kPowers = 97;
constexpr std::size_t kFitEvery = 4;  // of them; between these the fit's squares are a parabola
constexpr double kPriorMean = 0.03;   // easy data need more epochs than the noise says
constexpr double kPriorDeviation = 0.10;
// Of six models that were measured (docs/results/search.md), two had d near 0, two 0.15 and 0.3,
// and two -0.4 and -0.6.
constexpr double kTailDeviation = 0.45;
constexpr double kTailShare = 0.50;

constexpr std::size_t kShape = 4;  // coefficients of the curve: a cubic in ln u
constexpr double kBins = 64.0;
constexpr double kForgotten = 0.1;   // share of the samples, at the beginning, that follow no law
constexpr double kOffset = 0.01;     // of the loss: standard deviation of o_B
constexpr double kWiggle = 0.002;    // of the loss, likewise: what a bin departs by from its curve
constexpr double kCorrelated = 1.5;  // residuals are not independent: they count for fewer

double power_at(std::size_t i) {
  return kLeastPower + kPowerStep * static_cast<double>(i);
}

std::size_t nearest_power(double power) {
  return static_cast<std::size_t>(std::lround((power - kLeastPower) / kPowerStep));
}

double normal_density(double x, double deviation) {
  const double z = x / deviation;
  return std::exp(-0.5 * z * z) / deviation;
}

std::vector<double> prior_weights() {
  std::vector<double> weights(kPowers);
  for (std::size_t i = 0; i < kPowers; ++i)
    weights[i] = (1.0 - kTailShare) * normal_density(power_at(i) - kPriorMean, kPriorDeviation) +
                 kTailShare * normal_density(power_at(i), kTailDeviation);
  return weights;
}

void normalise(std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
}

// Neighbours of one batch together, each about as long.
std::vector<LossPoint> bins_of(std::span<const LossPoint> losses) {
  double all = 0.0;
  for (const LossPoint& one : losses) all += one.samples;
  std::vector<LossPoint> bins;
  for (const LossPoint& one : losses) {
    if (!(one.samples > 0.0) || !std::isfinite(one.loss)) continue;
    if (bins.empty() || bins.back().global_batch != one.global_batch ||
        bins.back().samples + 0.5 * one.samples > all / kBins) {
      bins.push_back(one);
      continue;
    }
    LossPoint& bin = bins.back();
    const double samples = bin.samples + one.samples;
    bin.loss += (one.loss - bin.loss) * one.samples / samples;
    bin.samples = samples;
  }
  return bins;
}

// From one point to the next, so that the curve's trend counts for little; the median, since
// spikes are no scatter.
double sample_variance(std::span<const LossPoint> losses) {
  constexpr double kMedianOfSquare = 0.4549;  // of a standard normal's
  std::vector<double> squares;
  for (std::size_t i = 1; i < losses.size(); ++i) {
    const LossPoint &a = losses[i - 1], &b = losses[i];
    if (a.global_batch != b.global_batch || !(a.samples > 0.0 && b.samples > 0.0)) continue;
    const double step = a.loss - b.loss;
    if (std::isfinite(step))
      squares.push_back(step * step * a.samples * b.samples / (a.samples + b.samples));
  }
  if (squares.empty()) return 0.0;
  const auto middle = squares.begin() + static_cast<std::ptrdiff_t>(squares.size() / 2);
  std::nth_element(squares.begin(), middle, squares.end());
  return *middle / kMedianOfSquare;
}

struct CurveFit {
  double squares = std::numeric_limits<double>::infinity();  // weighted
  double slope = 0.0;  // that the loss falls by for each unit of progress, at the end
};

// Of a sample at `batch` beside one at `beside`.
double worth_of(double batch, double beside, double power, double noise_scale) {
  return std::pow(batch / beside, -power) * (1.0 + beside / noise_scale) /
         (1.0 + batch / noise_scale);
}

// The curve for one power d after the other.
class Curve final {
 public:
  Curve(std::vector<LossPoint> bins, double variance, double noise_scale)
      : bins_(std::move(bins)), noise_scale_(noise_scale) {
    double all = 0.0, before = 0.0;
    for (const LossPoint& bin : bins_) {
      all += bin.samples;
      mean_ += std::abs(bin.loss) / static_cast<double>(bins_.size());
    }
    const double wiggle = kWiggle * mean_;
    for (const LossPoint& bin : bins_) {
      const auto known = std::ranges::find(batches_, bin.global_batch);
      batch_of_.push_back(static_cast<std::size_t>(known - batches_.begin()));
      if (known == batches_.end()) batches_.push_back(bin.global_batch);
      const bool is_used = before >= kForgotten * all;
      before += bin.samples;
      precision_.push_back(
          is_used ? 1.0 / std::max(1e-300, variance / bin.samples + wiggle * wiggle) : 0.0);
      used_ += is_used ? 1.0 : 0.0;
    }
  }

  std::size_t batches() const { return batches_.size(); }
  double last_batch() const { return bins_.back().global_batch; }
  double mean() const { return mean_; }
  double degrees_of_freedom() const {
    return std::max(1.0, used_ - static_cast<double>(kShape - 1 + batches_.size()));
  }

  // The cubic's coefficients, and an offset of each batch.
  CurveFit fit(double power) const {
    const std::vector<double> places = progress(power);
    const double end = places.back() + 0.5 * bins_.back().samples;
    const std::size_t n = kShape + batches_.size();
    Matrix normal(n, n);
    std::vector<double> right(n), row(n);
    double squares = 0.0;
    for (std::size_t j = 0; j < batches_.size(); ++j)
      normal(kShape + j, kShape + j) = std::pow(kOffset * mean_, -2.0);
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      if (precision_[i] == 0.0) continue;
      fill(row, i, std::log(places[i] / end));
      squares += precision_[i] * bins_[i].loss * bins_[i].loss;
      for (std::size_t j = 0; j < n; ++j) {
        right[j] += precision_[i] * row[j] * bins_[i].loss;
        for (std::size_t k = 0; k < n; ++k) normal(j, k) += precision_[i] * row[j] * row[k];
      }
    }
    const auto factors = Cholesky::of(normal);
    if (!factors) return {};
    const std::vector<double> coefficients = factors->solve(right);
    return {std::max(0.0, squares - dot(coefficients, right)), -coefficients[1] / end};
  }

 private:
  // u in the middle of each bin, in samples of the last batch.
  std::vector<double> progress(double power) const {
    std::vector<double> worths, places;
    for (const double batch : batches_)
      worths.push_back(worth_of(batch, last_batch(), power, noise_scale_));
    double sum = 0.0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      const double step = bins_[i].samples * worths[batch_of_[i]];
      places.push_back(sum + 0.5 * step);
      sum += step;
    }
    return places;
  }

  void fill(std::vector<double>& row, std::size_t i, double x) const {
    std::ranges::fill(row, 0.0);
    row[0] = 1.0;
    for (std::size_t j = 1; j < kShape; ++j) row[j] = row[j - 1] * x;
    row[kShape + batch_of_[i]] = 1.0;
  }

  std::vector<LossPoint> bins_;
  double noise_scale_;
  std::vector<double> batches_;
  std::vector<std::size_t> batch_of_;  // of each bin: its place in these
  std::vector<double> precision_;      // of each bin; 0 at the very beginning
  double used_ = 0.0;                  // bins
  double mean_ = 0.0;
};

std::vector<CurveFit> fits_of(const Curve& curve) {
  std::vector<CurveFit> fits(kPowers);
  for (std::size_t i = 0; i < kPowers; i += kFitEvery) fits[i] = curve.fit(power_at(i));
  constexpr double kStep = static_cast<double>(kFitEvery);
  for (std::size_t i = 0; i < kPowers; ++i) {
    if (i % kFitEvery == 0) continue;
    const std::size_t nearest = (i + kFitEvery / 2) / kFitEvery * kFitEvery;
    const std::size_t middle = std::clamp(nearest, kFitEvery, kPowers - 1 - kFitEvery);
    const double x = (static_cast<double>(i) - static_cast<double>(middle)) / kStep;
    const double before = fits[middle - kFitEvery].squares, at = fits[middle].squares;
    const double after = fits[middle + kFitEvery].squares;
    fits[i] = fits[middle];
    if (std::isfinite(before) && std::isfinite(at) && std::isfinite(after))
      fits[i].squares = at + 0.5 * x * (after - before) + 0.5 * x * x * (after - 2.0 * at + before);
  }
  return fits;
}

// By how much the curve departs from its form, beside its scatter: a factor of variances.
double misfit_of(const CurveFit& fit, const Curve& curve) {
  return kCorrelated * std::max(1.0, fit.squares / curve.degrees_of_freedom());
}

}  // namespace

MeasuredProgress::MeasuredProgress(std::span<const LossPoint> losses, double noise_scale)
    : noise_scale_(noise_scale), weights_(prior_weights()) {
  constexpr std::size_t kFewestBins = 8;
  const double variance = sample_variance(losses);
  const Curve curve(bins_of(losses), variance, noise_scale);
  normalise(weights_);
  if (curve.degrees_of_freedom() < kFewestBins) return;
  sample_deviation_ = std::sqrt(variance);
  wiggle_ = kWiggle * curve.mean();
  last_batch_ = curve.last_batch();
  if (curve.batches() < 2) {
    const CurveFit fit = curve.fit(kPriorMean);
    slope_ = fit.slope;
    misfit_ = misfit_of(fit, curve);
    return;
  }
  const std::vector<CurveFit> fits = fits_of(curve);
  const auto is_less = [](const CurveFit& a, const CurveFit& b) { return a.squares < b.squares; };
  const CurveFit& best = *std::ranges::min_element(fits, is_less);
  if (!std::isfinite(best.squares)) return;
  misfit_ = misfit_of(best, curve);
  for (std::size_t i = 0; i < kPowers; ++i)
    weights_[i] *= std::exp(-0.5 * (fits[i].squares - best.squares) / misfit_);
  normalise(weights_);
  slope_ = fits[nearest_power(mean())].slope;  // the best d may be far off where d is not known
}

double MeasuredProgress::expected(double x) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < kPowers; ++i) sum += weights_[i] * std::exp(x * power_at(i));
  return sum;
}

double MeasuredProgress::mean() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < kPowers; ++i) sum += weights_[i] * power_at(i);
  return sum;
}

double MeasuredProgress::deviation() const {
  const double centre = mean();
  double sum = 0.0;
  for (std::size_t i = 0; i < kPowers; ++i)
    sum += weights_[i] * (power_at(i) - centre) * (power_at(i) - centre);
  return std::sqrt(sum);
}

// By how far the curve has come when the job is back, beside where it was; while the look goes on,
// the slope there alone says less.
std::optional<double> MeasuredProgress::error_after(double samples, double global_batch) const {
  if (last_batch_ == 0.0) return std::nullopt;
  const double fall = slope_ * samples * worth_of(global_batch, last_batch_, mean(), noise_scale_);
  if (!(fall > 0.0)) return std::nullopt;
  const double scatter = 2.0 * sample_deviation_ * sample_deviation_ / samples;
  return std::sqrt(misfit_ * (scatter + wiggle_ * wiggle_)) / fall;
}

}  // namespace scavenger::perfmodel
