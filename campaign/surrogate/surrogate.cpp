#include "campaign/surrogate/surrogate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "perfmodel/fit/student.h"
#include "runtime/base/check.h"

namespace scavenger::surrogate {
namespace {

constexpr double kTwoSigmaShare = 0.9545;
// Sigma is at least this share of the profiles' scale, since an error bar of nothing says that the
// simulation itself would never differ.
constexpr double kLeastSigmaShare = 1e-3;
// And not 0 where all profiles are: errors are divided by it. Its square is a number, too.
constexpr double kTiny = 1e-100;
// student_quantile is two-sided: 5 % on one side are 10 % on both.
constexpr double kConfidence = 0.90;

// The bound that a mean of these keeps with 95 % confidence: mean + side * t s / sqrt(n).
double bound(std::span<const double> values, double side) {
  const auto n = static_cast<double>(values.size());
  double mean = 0.0, squares = 0.0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  if (values.size() < 2) return side > 0.0 ? HUGE_VAL : -HUGE_VAL;
  const double t = perfmodel::student_quantile(kConfidence, n - 1.0);
  return mean + side * t * std::sqrt(squares / (n - 1.0) / n);
}

}  // namespace

Surrogate::Surrogate(Encoding encoding, std::vector<Perceptron> members,
                     std::span<const Sample> samples)
    : encoding_(std::move(encoding)), members_(std::move(members)) {
  SCAVENGER_CHECK(!members_.empty() && !samples.empty());
  for (const Perceptron& member : members_)
    SCAVENGER_CHECK(member.inputs() == encoding_.set.inputs &&
                    member.outputs() == encoding_.set.outputs);
  if (encoding_.continues_remainder) continue_remainder(samples);
  const std::size_t bins = encoding_.components.mean.size();
  is_positive_ = std::ranges::all_of(samples, [](const Sample& sample) {
    return std::ranges::all_of(sample.profile, [](double value) { return value >= 0.0; });
  });
  double scale = 0.0;
  std::vector<double> squares(bins, 0.0);
  for (const Sample& sample : samples) {
    const Outputs outputs = run(sample.parameters);
    const std::vector<double> profile = encoding_.profile(outputs.unit, outputs.mean);
    if (!sample.errors.empty()) error_bars_.push_back({outputs.unit, sample.errors});
    for (std::size_t b = 0; b < bins; ++b) {
      const double difference = profile[b] - sample.profile[b];
      squares[b] += difference * difference;
      scale += sample.profile[b] * sample.profile[b];
    }
  }
  const auto count = static_cast<double>(samples.size());
  scale = std::sqrt(scale / count / static_cast<double>(bins));
  least_sigma_ = std::max(kLeastSigmaShare * scale, kTiny);
  for (std::size_t b = 0; b < bins; ++b) {
    residuals_.push_back(squares[b] / count + least_sigma_ * least_sigma_);
    may_be_zero_.push_back(std::ranges::any_of(
        samples, [&](const Sample& sample) { return sample.profile[b] == 0.0; }));
  }
}

// Each member then agrees with the simulations as well as their noise allows, so that members only
// differ where there are none.
void Surrogate::continue_remainder(std::span<const Sample> samples) {
  const std::size_t components = encoding_.set.outputs;
  const auto shortest = std::ranges::min_element(samples, {}, &Sample::steps);
  std::vector<std::vector<double>> units, coordinates(components);
  std::vector<std::vector<std::vector<double>>> left(members_.size(),
                                                     std::vector<std::vector<double>>(components));
  std::vector<double> steps;
  for (const Sample& sample : samples) {
    const Outputs outputs = run(sample.parameters);
    const std::vector<double> truth = encoding_.coordinates(outputs.unit, sample.profile);
    units.push_back(outputs.unit);
    steps.push_back(sample.steps / shortest->steps);
    for (std::size_t k = 0; k < components; ++k) {
      coordinates[k].push_back(truth[k]);
      for (std::size_t m = 0; m < members_.size(); ++m)
        left[m][k].push_back(truth[k] - outputs.members[m][k]);
    }
  }
  Kriging kriging(*encoding_.lengths, std::move(units), steps, coordinates);
  for (const auto& of_member : left) {
    weights_.emplace_back();
    for (std::size_t k = 0; k < components; ++k)
      weights_.back().push_back(kriging.weights(k, of_member[k]));
  }
  kriging_ = std::move(kriging);
}

Surrogate::Outputs Surrogate::run(std::span<const double> parameters) const {
  Outputs outputs;
  outputs.unit = encoding_.space.to_unit(parameters);
  outputs.mean.assign(encoding_.set.outputs, 0.0);
  const std::vector<double> inputs = encoding_.inputs(outputs.unit);
  const std::vector<double> covariances =
      kriging_ ? kriging_->covariances(outputs.unit) : std::vector<double>();
  for (std::size_t m = 0; m < members_.size(); ++m) {
    outputs.members.push_back(members_[m](inputs));
    std::vector<double>& coordinates = outputs.members.back();
    for (std::size_t k = 0; k < coordinates.size(); ++k) {
      coordinates[k] /= encoding_.output_scales[k];
      if (kriging_) coordinates[k] += perfmodel::dot(covariances, weights_[m][k]);
    }
    for (std::size_t k = 0; k < outputs.mean.size(); ++k)
      outputs.mean[k] += coordinates[k] / static_cast<double>(members_.size());
  }
  return outputs;
}

// Of each bin, between the members; 0 if there is one.
std::vector<double> Surrogate::member_variances(const Outputs& outputs,
                                                std::span<const double> mean_profile) const {
  std::vector<double> variances(mean_profile.size(), 0.0);
  if (members_.size() < 2) return variances;
  for (const std::vector<double>& member : outputs.members) {
    const std::vector<double> profile = encoding_.profile(outputs.unit, member);
    for (std::size_t b = 0; b < profile.size(); ++b) {
      const double difference = profile[b] - mean_profile[b];
      variances[b] += difference * difference / static_cast<double>(members_.size() - 1);
    }
  }
  return variances;
}

Prediction Surrogate::uncalibrated(std::span<const double> parameters) const {
  const Outputs outputs = run(parameters);
  Prediction prediction{encoding_.profile(outputs.unit, outputs.mean), residuals_};
  const std::vector<double> variances = member_variances(outputs, prediction.profile);
  for (std::size_t b = 0; b < variances.size(); ++b)
    prediction.sigma[b] = std::sqrt(prediction.sigma[b] + variances[b]);
  if (is_positive_)
    for (std::size_t b = 0; b < prediction.profile.size(); ++b)
      if (prediction.profile[b] < (may_be_zero_[b] ? least_sigma_ : 0.0))
        prediction.profile[b] = 0.0;
  return prediction;
}

void Surrogate::calibrate(std::span<const Sample> holdout) {
  std::vector<double> ratios;
  for (const Sample& sample : holdout) {
    const Prediction prediction = uncalibrated(sample.parameters);
    for (std::size_t b = 0; b < sample.profile.size(); ++b)
      ratios.push_back(std::abs(prediction.profile[b] - sample.profile[b]) / prediction.sigma[b]);
  }
  if (ratios.empty()) return;
  const auto place = static_cast<std::ptrdiff_t>(
      std::min(std::ceil(kTwoSigmaShare * static_cast<double>(ratios.size())),
               static_cast<double>(ratios.size() - 1)));
  std::ranges::nth_element(ratios, ratios.begin() + place);
  factor_ = 0.5 * ratios[static_cast<std::size_t>(place)];
}

Prediction Surrogate::predict(std::span<const double> parameters) const {
  Prediction prediction = uncalibrated(parameters);
  for (double& sigma : prediction.sigma) sigma *= factor_;
  return prediction;
}

// The directions are orthonormal, so the sum over bins is that over components.
double Surrogate::variance(std::span<const double> parameters) const {
  if (members_.size() < 2) return 0.0;
  const Outputs outputs = run(parameters);
  double sum = 0.0;
  for (const std::vector<double>& member : outputs.members)
    for (std::size_t k = 0; k < member.size(); ++k) {
      const double difference = (member[k] - outputs.mean[k]) * encoding_.components.deviations[k];
      sum += difference * difference;
    }
  const auto bins = static_cast<double>(encoding_.components.mean.size());
  return factor_ * factor_ * sum / static_cast<double>(members_.size() - 1) / bins;
}

double Surrogate::share_outside(std::span<const double> parameters) const {
  if (error_bars_.empty()) return 0.0;
  const Outputs outputs = run(parameters);
  const auto nearest = std::ranges::min_element(error_bars_, {}, [&](const ErrorBars& bars) {
    return squared_distance(bars.unit, outputs.unit);
  });
  const std::vector<double> variances =
      member_variances(outputs, encoding_.profile(outputs.unit, outputs.mean));
  double sum = 0.0;
  for (std::size_t b = 0; b < variances.size(); ++b) {
    const double sigma = factor_ * std::sqrt(variances[b]);
    if (sigma > 0.0) sum += std::erfc(nearest->errors[b] / (sigma * std::numbers::sqrt2));
  }
  return sum / static_cast<double>(variances.size());
}

HoldoutError Surrogate::error_on(std::span<const Sample> samples) const {
  HoldoutError error{.profiles = samples.size()};
  if (samples.empty()) return error;
  std::vector<double> squares, shares;  // of each profile
  for (const Sample& sample : samples) {
    const Prediction prediction = predict(sample.parameters);
    double square = 0.0, within = 0.0, covered = 0.0;
    for (std::size_t b = 0; b < sample.profile.size(); ++b) {
      const double difference = std::abs(prediction.profile[b] - sample.profile[b]);
      square += difference * difference;
      if (!sample.errors.empty() && difference <= sample.errors[b]) within += 1.0;
      if (difference <= 2.0 * prediction.sigma[b]) covered += 1.0;
    }
    const auto bins = static_cast<double>(sample.profile.size());
    const auto count = static_cast<double>(samples.size());
    squares.push_back(square / bins);
    shares.push_back(within / bins);
    error.rmse += square / bins / count;
    error.within += within / bins / count;
    error.covered += covered / bins / count;
  }
  error.rmse = std::sqrt(error.rmse);
  error.most_rmse = std::sqrt(bound(squares, 1.0));
  error.least_within = std::max(0.0, bound(shares, -1.0));
  return error;
}

Surrogate fit_surrogate(const UnitSpace& space, std::span<const Sample> samples,
                        const FitSettings& settings, const TrainMember& train) {
  Encoding encoding = encode(space, samples, settings);
  std::vector<Perceptron> members;
  for (std::size_t index = 0; index < settings.members; ++index)
    members.push_back(train(encoding.set, settings, index));
  return Surrogate(std::move(encoding), std::move(members), samples);
}

}  // namespace scavenger::surrogate
