#include "perfmodel/search/measured_progress.h"

#include <algorithm>
#include <array>
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
constexpr double kTailDeviation = 0.40;
constexpr double kTailShare = 0.25;

constexpr std::array kDecays = {0.25, 0.5, 1.0, 2.0};        // beta
constexpr std::array kKnees = {0.003, 0.02, 0.1, 0.5, 3.0};  // u0, of all progress
constexpr double kBins = 64.0;
constexpr double kForgotten = 0.1;   // share of the samples, at the beginning, that follow no law
constexpr double kOffset = 0.01;     // of the loss: standard deviation of o_B
constexpr double kWiggle = 0.003;    // of the loss, likewise: what a bin departs by from its curve
constexpr double kCorrelated = 3.0;  // residuals are not independent: they count for fewer

double power_at(std::size_t i) {
  return kLeastPower + kPowerStep * static_cast<double>(i);
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

// Weighted sums over the bins of one batch, f being what the loss falls as.
struct BatchSums {
  double weight = 0.0, loss = 0.0, fallen = 0.0, fallen_squares = 0.0, fallen_loss = 0.0;
};

// The curve for one power d after the other.
class Curve final {
 public:
  Curve(std::vector<LossPoint> bins, double variance, double noise_scale)
      : bins_(std::move(bins)), noise_scale_(noise_scale) {
    for (const LossPoint& bin : bins_) {
      const auto known = std::ranges::find(batches_, bin.global_batch);
      batch_of_.push_back(static_cast<std::size_t>(known - batches_.begin()));
      if (known == batches_.end()) batches_.push_back(bin.global_batch);
      mean_ += std::abs(bin.loss) / static_cast<double>(bins_.size());
    }
    const double wiggle = kWiggle * mean_;
    for (const LossPoint& bin : bins_) {
      precision_.push_back(1.0 / std::max(1e-300, variance / bin.samples + wiggle * wiggle));
      squares_ += precision_.back() * bin.loss * bin.loss;
    }
  }

  std::size_t batches() const { return batches_.size(); }
  double mean() const { return mean_; }
  double degrees_of_freedom() const {
    const double coefficients = 4.0 + static_cast<double>(batches_.size());
    return std::max(1.0, static_cast<double>(bins_.size()) - coefficients);
  }

  CurveFit best(double power) const {
    const std::vector<double> places = progress(power);
    const double end = places.back() + 0.5 * bins_.back().samples;
    CurveFit best;
    std::vector<double> falls;
    for (const double share : kKnees) {
      const double knee = share * end;
      for (const double decay : kDecays) {
        falls.clear();
        for (const double place : places) falls.push_back(fallen(1.0 + place / knee, decay));
        CurveFit one = fit(falls);
        one.slope *= decay / knee * std::pow(1.0 + end / knee, -decay - 1.0);
        if (one.squares < best.squares) best = one;
      }
    }
    return best;
  }

 private:
  // x^-decay, of the decays that there are.
  static double fallen(double x, double decay) {
    if (decay == 2.0) return 1.0 / (x * x);
    if (decay == 1.0) return 1.0 / x;
    return 1.0 / (decay == 0.5 ? std::sqrt(x) : std::sqrt(std::sqrt(x)));
  }

  double worth(double batch, double power) const {
    const double base = bins_.back().global_batch;
    return std::pow(batch / base, -power) * (1.0 + base / noise_scale_) /
           (1.0 + batch / noise_scale_);
  }

  // u in the middle of each bin, in samples of the last batch.
  std::vector<double> progress(double power) const {
    std::vector<double> worths, places;
    for (const double batch : batches_) worths.push_back(worth(batch, power));
    double sum = 0.0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      const double step = bins_[i].samples * worths[batch_of_[i]];
      places.push_back(sum + 0.5 * step);
      sum += step;
    }
    return places;
  }

  std::vector<BatchSums> sums(const std::vector<double>& falls) const {
    std::vector<BatchSums> sums(batches_.size());
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      BatchSums& of = sums[batch_of_[i]];
      const double weight = precision_[i], weighted = weight * falls[i];
      of.weight += weight;
      of.loss += weight * bins_[i].loss;
      of.fallen += weighted;
      of.fallen_squares += weighted * falls[i];
      of.fallen_loss += weighted * bins_[i].loss;
    }
    return sums;
  }

  // c, a, and an offset of each batch but the first. The slope is a.
  CurveFit fit(const std::vector<double>& falls) const {
    const std::size_t n = batches_.size() + 1;
    Matrix normal(n, n);
    std::vector<double> right(n);
    const std::vector<BatchSums> all = sums(falls);
    for (std::size_t b = 0; b < all.size(); ++b) {
      normal(0, 0) += all[b].weight;
      normal(0, 1) += all[b].fallen;
      normal(1, 1) += all[b].fallen_squares;
      right[0] += all[b].loss;
      right[1] += all[b].fallen_loss;
      if (b == 0) continue;
      normal(0, b + 1) = all[b].weight;
      normal(1, b + 1) = all[b].fallen;
      normal(b + 1, b + 1) = all[b].weight + std::pow(kOffset * mean_, -2.0);
      right[b + 1] = all[b].loss;
    }
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < j; ++k) normal(j, k) = normal(k, j);
    const auto factors = Cholesky::of(normal);
    if (!factors) return {};
    const std::vector<double> coefficients = factors->solve(right);
    if (!(coefficients[1] > 0.0)) return {};
    return {std::max(0.0, squares_ - dot(coefficients, right)), coefficients[1]};
  }

  std::vector<LossPoint> bins_;
  double noise_scale_;
  std::vector<double> batches_;
  std::vector<std::size_t> batch_of_;  // of each bin: its place in these
  std::vector<double> precision_;      // of each bin
  double squares_ = 0.0;               // weighted, of the losses
  double mean_ = 0.0;
};

std::vector<CurveFit> fits_of(const Curve& curve) {
  std::vector<CurveFit> fits(kPowers);
  for (std::size_t i = 0; i < kPowers; i += kFitEvery) fits[i] = curve.best(power_at(i));
  constexpr double kStep = static_cast<double>(kFitEvery);
  for (std::size_t i = 0; i < kPowers; ++i) {
    if (i % kFitEvery == 0) continue;
    const std::size_t nearest = (i + kFitEvery / 2) / kFitEvery * kFitEvery;
    const std::size_t middle = std::clamp(nearest, kFitEvery, kPowers - 1 - kFitEvery);
    const double x = (static_cast<double>(i) - static_cast<double>(middle)) / kStep;
    // Where the loss would rise, no curve fits.
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

// Without the very beginning.
std::span<const LossPoint> later(std::span<const LossPoint> losses) {
  double all = 0.0, before = 0.0;
  for (const LossPoint& one : losses) all += one.samples;
  std::size_t first = 0;
  while (first < losses.size() && before < kForgotten * all) before += losses[first++].samples;
  return losses.subspan(first);
}

}  // namespace

MeasuredProgress::MeasuredProgress(std::span<const LossPoint> losses, double noise_scale)
    : weights_(prior_weights()) {
  constexpr std::size_t kFewestBins = 8;
  const auto used = later(losses);
  const double variance = sample_variance(used);
  const Curve curve(bins_of(used), variance, noise_scale);
  normalise(weights_);
  if (curve.degrees_of_freedom() < kFewestBins) return;
  sample_deviation_ = std::sqrt(variance);
  wiggle_ = kWiggle * curve.mean();
  if (curve.batches() < 2) {
    const CurveFit fit = curve.best(kPriorMean);
    slope_ = fit.slope;
    misfit_ = misfit_of(fit, curve);
    return;
  }
  const std::vector<CurveFit> fits = fits_of(curve);
  const auto is_less = [](const CurveFit& a, const CurveFit& b) { return a.squares < b.squares; };
  const CurveFit& best = *std::ranges::min_element(fits, is_less);
  if (!std::isfinite(best.squares)) return;
  slope_ = best.slope;
  misfit_ = misfit_of(best, curve);
  for (std::size_t i = 0; i < kPowers; ++i)
    weights_[i] *= std::exp(-0.5 * (fits[i].squares - best.squares) / misfit_);
  normalise(weights_);
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
std::optional<double> MeasuredProgress::error_after(double samples) const {
  const double fall = slope_ * samples;
  if (!(fall > 0.0)) return std::nullopt;
  const double scatter = 2.0 * sample_deviation_ * sample_deviation_ / samples;
  return std::sqrt(misfit_ * (scatter + wiggle_ * wiggle_)) / fall;
}

}  // namespace scavenger::perfmodel
