#include "perfmodel/machines/machine_model.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <set>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kSharedDeparture = 0.5;  // between types
// Fits less plausible than this share of the best one are left out.
constexpr double kLeastPlausible = 0.02;
// No form is right, and measurements of one job share what it lacks: between forms and sizes of
// departures, the evidence counts half.
constexpr double kFormWeight = 0.5;

double distance(const MachineUse& a, const MachineUse& b) {
  return std::abs(std::log(a.local_batch / b.local_batch)) + std::abs(std::log(a.vms / b.vms)) +
         std::abs(std::log(a.per_vm / b.per_vm)) + (a.is_alone != b.is_alone ? 1.0 : 0.0);
}

[[noreturn]] void refuse(const std::string& what) {
  throw DataError({.what = what,
                   .where = "machine model",
                   .remedy = "train the job for two minutes on one machine, and name its run"});
}

std::vector<MachineObservation> checked(std::vector<MachineObservation> observations,
                                        std::size_t types) {
  if (observations.empty()) refuse("no seconds per iteration of this job were measured");
  for (const MachineObservation& o : observations)
    if (!(o.seconds > 0.0) || !std::isfinite(o.seconds) || !(o.use.local_batch > 0.0) ||
        o.use.vms < 1.0 || o.use.per_vm < 1.0 || o.use.type >= types)
      refuse("an observation of seconds per iteration is not positive");
  return observations;
}

// The observation whose seconds are the median, of a type that the catalogue knows if there is one:
// what it says of the others counts beside that type.
const MachineObservation& typical(std::span<const MachineFeatures> types,
                                  std::span<const MachineObservation> observations) {
  const auto is_known = [&](const MachineObservation& o) {
    return types[o.use.type].rate.has_value();
  };
  const bool some_known = std::ranges::any_of(observations, is_known);
  std::vector<const MachineObservation*> sorted;
  for (const MachineObservation& o : observations)
    if (is_known(o) || !some_known) sorted.push_back(&o);
  std::ranges::sort(sorted, {}, [](const MachineObservation* o) { return o->seconds; });
  return *sorted[(sorted.size() - 1) / 2];
}

// One for each scale of the own spreads; only one if a single type was measured, which says nothing
// of differences between types.
std::vector<ParameterPrior> priors_of(std::span<const MachineFeatures> types,
                                      const MachineModelOptions& options,
                                      std::span<const MachineObservation> observations) {
  const MachineObservation& o = typical(types, observations);
  const bool one_type = std::ranges::all_of(
      observations, [&](const MachineObservation& other) { return other.use.type == o.use.type; });
  std::vector<ParameterPrior> result;
  for (const double scale : options.own_spread_scales) {
    MachinePriors priors = options.priors;
    for (double& spread : priors.own_spread) spread *= scale;
    result.emplace_back(types, priors, std::log(o.seconds), std::log(o.use.local_batch),
                        o.use.type);
    if (one_type) break;
  }
  return result;
}

bool shows_floor(std::span<const MachineObservation> observations, std::size_t batches) {
  std::set<double> seen;
  for (const MachineObservation& o : observations) seen.insert(o.use.local_batch);
  return seen.size() >= batches;
}

bool has_full_hosts(std::span<const MachineObservation> observations) {
  return std::ranges::any_of(observations,
                             [](const MachineObservation& o) { return o.use.per_vm > 1.0; });
}

}  // namespace

double MachinePrediction::quantile(double probability) const {
  const double z = boost::math::quantile(boost::math::normal(), probability);
  return std::exp(log_mean + z * std::sqrt(log_variance));
}

MachineFit::MachineFit(const MachineForm& form, double departure, const ParameterPrior& prior,
                       std::span<const MachineObservation> observations, std::size_t types,
                       double measurement_spread)
    : form_(form),
      departure_(departure),
      prior_(&prior),
      observations_(observations.begin(), observations.end()),
      measurement_variance_(measurement_spread * measurement_spread) {
  for (std::size_t type = 0; type < types; ++type) parameters_.push_back(prior.mean(type));
  find_parameters();
}

double MachineFit::departure_kernel(const MachineUse& a, const MachineUse& b) const {
  const double shared = a.type == b.type ? 1.0 : kSharedDeparture;
  return shared * departure_ * departure_ * std::exp(-distance(a, b));
}

double MachineFit::kernel(const MachineUse& a, const MachineParameters& gradient_a,
                          const MachineUse& b, const MachineParameters& gradient_b) const {
  double total = departure_kernel(a, b);
  for (std::size_t p = 0; p < kMachineParameters; ++p)
    if (gradient_a[p] != 0.0 && gradient_b[p] != 0.0)
      total += gradient_a[p] * gradient_b[p] *
               prior_->covariance(static_cast<MachineParameter>(p), a.type, b.type);
  return total;
}

std::vector<double> MachineFit::kernels(const MachineUse& use,
                                        const MachineParameters& gradient) const {
  std::vector<double> row;
  for (std::size_t i = 0; i < observations_.size(); ++i)
    row.push_back(kernel(use, gradient, observations_[i].use, gradients_[i]));
  return row;
}

// Gauss-Newton steps of the posterior mode, in the space of the observations: the parameters are
// the prior's mean plus what the weighted residuals of the linearised form add.
void MachineFit::find_parameters() {
  constexpr int kSteps = 25;
  constexpr double kLongestStep = 1.0;
  const std::size_t n = observations_.size();
  std::vector<double> residuals(n);
  for (int step = 0; step <= kSteps; ++step) {
    gradients_.clear();
    for (std::size_t i = 0; i < n; ++i) {
      const MachineObservation& o = observations_[i];
      const MachineSeconds at = evaluate(form_, parameters_[o.use.type], o.use);
      residuals[i] = std::log(o.seconds) - at.log_seconds;
      for (std::size_t p = 0; p < kMachineParameters; ++p)
        residuals[i] += at.gradient[p] * (parameters_[o.use.type][p] - prior_->mean(o.use.type)[p]);
      gradients_.push_back(at.gradient);
    }
    Matrix covariance(n, n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        covariance(i, j) =
            kernel(observations_[i].use, gradients_[i], observations_[j].use, gradients_[j]);
      const double relative = observations_[i].standard_error / observations_[i].seconds;
      covariance(i, i) += measurement_variance_ + relative * relative;
    }
    const auto factor = Cholesky::of(covariance);
    if (!factor) refuse("the measurements contradict each other");
    weights_ = factor->solve(residuals);
    factor_ = {*factor};
    if (step == kSteps) break;
    double largest = 0.0;
    std::vector<MachineParameters> next;
    for (std::size_t type = 0; type < parameters_.size(); ++type) {
      MachineParameters value = prior_->mean(type);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t p = 0; p < kMachineParameters; ++p)
          value[p] += prior_->covariance(static_cast<MachineParameter>(p), type,
                                         observations_[i].use.type) *
                      gradients_[i][p] * weights_[i];
      for (std::size_t p = 0; p < kMachineParameters; ++p)
        largest = std::max(largest, std::abs(value[p] - parameters_[type][p]));
      next.push_back(value);
    }
    const double share = std::min(1.0, kLongestStep / std::max(largest, 1e-12));
    for (std::size_t type = 0; type < parameters_.size(); ++type)
      for (std::size_t p = 0; p < kMachineParameters; ++p)
        parameters_[type][p] += share * (next[type][p] - parameters_[type][p]);
    if (largest < 1e-4) step = kSteps - 1;  // once more, to have all at the same place
  }
  evidence_ = -0.5 * dot(weights_, residuals) - 0.5 * factor_.front().log_determinant();
}

MachinePrediction MachineFit::predict(const MachineUse& use) const {
  const MachineSeconds at = evaluate(form_, parameters_[use.type], use);
  const std::vector<double> row = kernels(use, at.gradient);
  MachinePrediction prediction;
  prediction.log_mean = at.log_seconds;
  for (std::size_t i = 0; i < observations_.size(); ++i)
    prediction.log_mean += departure_kernel(use, observations_[i].use) * weights_[i];
  const std::vector<double> white = factor_.front().whiten(row);
  prediction.log_variance =
      std::max(0.0, kernel(use, at.gradient, use, at.gradient) - dot(white, white));
  prediction.sync_share = at.sync_share;
  return prediction;
}

double MachineFit::variance_after(const MachineUse& use, const MachineUse& probe) const {
  const MachineParameters at = evaluate(form_, parameters_[use.type], use).gradient;
  const MachineParameters there = evaluate(form_, parameters_[probe.type], probe).gradient;
  const std::vector<double> a = factor_.front().whiten(kernels(use, at));
  const std::vector<double> b = factor_.front().whiten(kernels(probe, there));
  const double own = kernel(use, at, use, at) - dot(a, a);
  const double probed = kernel(probe, there, probe, there) - dot(b, b) + measurement_variance_;
  const double both = kernel(use, at, probe, there) - dot(a, b);
  return std::max(0.0, own - both * both / probed);
}

MachineModel::MachineModel(std::vector<MachineFeatures> types,
                           std::vector<MachineObservation> observations,
                           const MachineModelOptions& options)
    : types_(std::move(types)),
      observations_(checked(std::move(observations), types_.size())),
      priors_(priors_of(types_, options, observations_)) {
  // Within a form, the scales of the spread between types are weighed by the whole evidence.
  std::vector<double> scores;
  for (const MachineForm& form :
       machine_forms(shows_floor(observations_, options.batches_for_floor),
                     options.state_is_elsewhere, has_full_hosts(observations_)))
    for (const double departure : options.departures) {
      double common = 0.0;
      for (const ParameterPrior& prior : priors_) {
        fits_.emplace_back(form, departure, prior, observations_, types_.size(),
                           options.measurement_spread);
        const double evidence = fits_.back().evidence();
        if (&prior == priors_.data()) common = (1.0 - kFormWeight) * evidence;
        scores.push_back(evidence - common);
      }
    }
  for (std::size_t i = 1; i < fits_.size(); ++i)
    if (scores[i] > scores[best_] + 1e-9) best_ = i;
  const double top = scores[best_];
  std::vector<MachineFit> kept;
  double total = 0.0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < fits_.size(); ++i) {
    const double plausibility = std::exp(scores[i] - top);
    if (plausibility < kLeastPlausible) continue;
    if (i == best_) best = kept.size();
    kept.push_back(std::move(fits_[i]));
    plausibilities_.push_back(plausibility);
    total += plausibility;
  }
  fits_ = std::move(kept);
  best_ = best;
  for (double& plausibility : plausibilities_) plausibility /= total;
}

MachinePrediction MachineModel::predict(const MachineUse& use) const {
  MachinePrediction mixture;
  double squares = 0.0;
  for (std::size_t i = 0; i < fits_.size(); ++i) {
    const MachinePrediction one = fits_[i].predict(use);
    mixture.log_mean += plausibilities_[i] * one.log_mean;
    squares += plausibilities_[i] * (one.log_mean * one.log_mean + one.log_variance);
    mixture.sync_share += plausibilities_[i] * one.sync_share;
  }
  mixture.log_variance = std::max(0.0, squares - mixture.log_mean * mixture.log_mean);
  return mixture;
}

double MachineModel::variance_after(const MachineUse& use, const MachineUse& probe) const {
  double total = 0.0;
  for (std::size_t i = 0; i < fits_.size(); ++i)
    total += plausibilities_[i] * fits_[i].variance_after(use, probe);
  return total;
}

bool MachineModel::is_measured(std::size_t type) const {
  return std::ranges::any_of(observations_,
                             [type](const MachineObservation& o) { return o.use.type == type; });
}

}  // namespace scavenger::perfmodel
