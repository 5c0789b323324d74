#include "perfmodel/epochs/statistical_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "perfmodel/fit/student.h"
#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kConfidence = 0.95;

// Runs of one configuration differ by 2 to 20 % in epochs between seeds; what one assumes before
// the fit has shown its own scatter, and how many observations that assumption is worth.
constexpr double kUsualScatter = 0.10;
constexpr double kPriorDegrees = 4.0;

template <typename Observation>
std::set<double> batch_sizes(std::span<const Observation> observations) {
  std::set<double> batches;
  for (const Observation& o : observations) batches.insert(o.global_batch);
  return batches;
}

[[noreturn]] void refuse(std::string what, std::string remedy) {
  throw DataError(
      {.what = std::move(what), .where = "statistical model", .remedy = std::move(remedy)});
}

template <typename Observation>
void require_one_phase(std::span<const Observation> observations) {
  for (const Observation& o : observations)
    if (o.phase != observations.front().phase)
      refuse(fmt::format("observations of learning-rate phases {} and {} are mixed",
                         observations.front().phase, o.phase),
             "fit each phase by itself: noise and epochs depend on the learning rate");
}

LinearFit fixed_line(double intercept, double slope) {
  LinearFit line;
  line.coefficients = {intercept, slope};
  line.covariance = Matrix(2, 2);
  return line;
}

double mean_epochs(std::span<const EpochObservation> epochs) {
  double sum = 0.0;
  for (const EpochObservation& o : epochs) sum += o.epochs;
  return sum / static_cast<double>(epochs.size());
}

// Standard deviation of one observation about the line: seen and assumed scatter together.
double pooled_scatter(const LinearFit& line, double mean) {
  const double assumed = kUsualScatter * mean;
  return std::sqrt(
      (kPriorDegrees * assumed * assumed + line.degrees_of_freedom * line.residual_variance) /
      (kPriorDegrees + line.degrees_of_freedom));
}

// The fit's covariance stems from its own residuals, of which there may be none: use `scatter`.
void rescale_covariance(LinearFit& line, std::span<const double> x, double scatter) {
  double mean = 0.0, spread = 0.0;
  const double n = static_cast<double>(x.size());
  for (const double value : x) mean += value / n;
  for (const double value : x) spread += (value - mean) * (value - mean);
  const double variance = scatter * scatter;
  line.covariance(0, 0) = variance * (1.0 / n + mean * mean / spread);
  line.covariance(1, 1) = variance / spread;
  line.covariance(0, 1) = line.covariance(1, 0) = -variance * mean / spread;
}

}  // namespace

std::string_view name_of(StatisticalForm form) {
  return form == StatisticalForm::kScavenger ? "scavenger" : "noise_scale";
}

double StatisticalModel::regressor(double global_batch) const {
  if (form_ == StatisticalForm::kNoiseScale) return global_batch;
  const double row[] = {1.0, 1.0 / std::sqrt(global_batch)};
  return noise_line_.predict(row);
}

StatisticalModel StatisticalModel::scavenger(std::span<const EpochObservation> epochs,
                                             std::span<const NoiseObservation> noise) {
  check_observations(epochs);
  check_observations(noise);
  require_one_phase(epochs);
  require_one_phase(noise);
  if (batch_sizes(noise).size() < 2)
    refuse("gradient noise is known at fewer than two batch sizes",
           "measure it at one more, or use the noise_scale model");
  StatisticalModel model;
  model.form_ = StatisticalForm::kScavenger;
  std::vector<double> x, y;
  for (const NoiseObservation& o : noise) {
    x.push_back(1.0 / std::sqrt(o.global_batch));
    y.push_back(o.normalised_noise);
  }
  model.noise_line_ = fit_line(x, y);
  model.fit_epochs(epochs, noise.front().global_batch, 0.0);
  return model;
}

StatisticalModel StatisticalModel::noise_scale(std::span<const EpochObservation> epochs) {
  if (batch_sizes(epochs).size() < 2)
    refuse("epochs are known at fewer than two batch sizes, and no noise scale is given",
           "give a measured noise scale, or finish a run at another batch size");
  return noise_scale(epochs, 0.0);
}

StatisticalModel StatisticalModel::noise_scale(std::span<const EpochObservation> epochs,
                                               double gradient_noise_scale) {
  check_observations(epochs);
  require_one_phase(epochs);
  StatisticalModel model;
  model.form_ = StatisticalForm::kNoiseScale;
  const double reference = epochs.empty() ? gradient_noise_scale : epochs.front().global_batch;
  model.fit_epochs(epochs, reference, gradient_noise_scale);
  return model;
}

void StatisticalModel::fit_epochs(std::span<const EpochObservation> epochs, double reference_batch,
                                  double offset) {
  reference_batch_ = reference_batch;
  relative_ = epochs.empty();
  std::vector<double> x, y;
  for (const EpochObservation& o : epochs) {
    x.push_back(regressor(o.global_batch));
    y.push_back(o.epochs);
  }
  if (batch_sizes(epochs).size() >= 2) {
    line_ = fit_line(x, y);
    scatter_ = pooled_scatter(line_, mean_epochs(epochs));
    quantile_ = student_quantile(kConfidence, kPriorDegrees + line_.degrees_of_freedom);
    rescale_covariance(line_, x, scatter_);
    return;
  }
  // One point of the curve: its shape is e proportional to offset + regressor, where the offset is
  // B_s for the noise scale and 0 for Scavenger's.
  const double known = relative_ ? 1.0 : mean_epochs(epochs);
  const double slope = known / (offset + regressor(reference_batch_));
  line_ = fixed_line(slope * offset, slope);
  scatter_ = kUsualScatter * known;
  quantile_ = student_quantile(kConfidence, kPriorDegrees);
}

Estimate StatisticalModel::epochs(double global_batch) const {
  const double row[] = {1.0, regressor(global_batch)};
  Estimate estimate;
  estimate.value = line_.predict(row);
  const double error = line_.standard_error(row);
  estimate.standard_error = error > 0.0 ? error : scatter_;
  const double reach = quantile_ * std::hypot(estimate.standard_error, scatter_);
  estimate.low = estimate.value - reach;
  estimate.high = estimate.value + reach;
  return estimate;
}

namespace {

StatisticalModel fit_form(StatisticalForm form, std::span<const EpochObservation> epochs,
                          std::span<const NoiseObservation> noise) {
  return form == StatisticalForm::kScavenger ? StatisticalModel::scavenger(epochs, noise)
                                             : StatisticalModel::noise_scale(epochs);
}

double held_out_error(StatisticalForm form, std::span<const EpochObservation> epochs,
                      std::span<const NoiseObservation> noise) {
  double sum = 0.0;
  for (const double left_out : batch_sizes(epochs)) {
    std::vector<EpochObservation> rest;
    for (const EpochObservation& o : epochs)
      if (o.global_batch != left_out) rest.push_back(o);
    const double predicted = fit_form(form, rest, noise).epochs(left_out).value;
    for (const EpochObservation& o : epochs)
      if (o.global_batch == left_out) sum += std::abs(predicted / o.epochs - 1.0);
  }
  return sum / static_cast<double>(epochs.size());
}

}  // namespace

bool tells_epochs(std::span<const EpochObservation> epochs, std::span<const NoiseObservation> noise,
                  std::optional<double> gradient_noise_scale) {
  return gradient_noise_scale || batch_sizes(epochs).size() >= 2 || batch_sizes(noise).size() >= 2;
}

StatisticalChoice choose_statistical_model(std::span<const EpochObservation> epochs,
                                           std::span<const NoiseObservation> noise,
                                           std::optional<double> gradient_noise_scale) {
  check_observations(epochs);
  check_observations(noise);
  const std::size_t run_batches = batch_sizes(epochs).size();
  const bool noise_at_two = batch_sizes(noise).size() >= 2;
  if (run_batches < 3) {
    if (noise_at_two) return {StatisticalModel::scavenger(epochs, noise), {}};
    if (gradient_noise_scale)
      return {StatisticalModel::noise_scale(epochs, *gradient_noise_scale), {}};
    return {StatisticalModel::noise_scale(epochs), {}};
  }
  std::vector<ScoredForm> scores{
      {StatisticalForm::kNoiseScale, held_out_error(StatisticalForm::kNoiseScale, epochs, noise)}};
  if (noise_at_two)
    scores.push_back(
        {StatisticalForm::kScavenger, held_out_error(StatisticalForm::kScavenger, epochs, noise)});
  std::stable_sort(scores.begin(), scores.end(), [](const ScoredForm& a, const ScoredForm& b) {
    return a.held_out_error < b.held_out_error;
  });
  return {fit_form(scores.front().form, epochs, noise), scores};
}

}  // namespace scavenger::perfmodel
