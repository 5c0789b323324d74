#include "elastic/vms/vm_predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "elastic/vms/vm_memory.h"
#include "perfmodel/store/observations.h"
#include "perfmodel/survival/fitted_survival.h"
#include "perfmodel/survival/renewal_losses.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

using perfmodel::MachinePrediction;
using perfmodel::MachineUse;

constexpr std::size_t kDraws = 400;
constexpr double kSeedSpread = 0.05;  // of ln(epochs) between seeds; MLPerf's median is 0.034
// Losses are known until so many times the median of a job's time, and extrapolated from there.
constexpr double kLongerThanMedian = 1.5;

double samples_of(const KnownModel& known, const VmQuestion& question) {
  if (question.running) return question.running->batch;  // epochs do not count
  const auto recorded = static_cast<double>(known.record.signature.samples_per_epoch);
  const double samples = question.samples_per_epoch.value_or(recorded);
  if (samples > 0.0) return samples;
  throw DataError({.what = "the number of samples of an epoch is not known",
                   .where = "scavenger-plan vms",
                   .remedy = "give it: --samples 60000"});
}

// Seconds of one iteration: what a worker computes, and by how much synchronisation makes that
// longer.
struct IterationSeconds {
  double compute = 0.0;
  double sync = 0.0;
};
IterationSeconds iteration_seconds_of(const MachinePrediction& prediction) {
  const double whole = std::exp(prediction.log_mean);
  const double sync = whole * std::clamp(prediction.sync_share, 0.0, 1.0);
  return {whole - sync, sync};
}

perfmodel::MachineModelOptions options_of(const KnownModel& known) {
  perfmodel::MachineModelOptions options;
  options.state_is_elsewhere = known.state_is_elsewhere;
  return options;
}

}  // namespace

VmPredictor::VmPredictor(const KnownModel& known, const std::vector<VmType>& catalogue,
                         const VmQuestion& question)
    : known_(known),
      question_(question),
      samples_(samples_of(known, question)),
      types_(known, catalogue, question.other_types),
      model_(types_.features(), types_.observations_of(known), options_of(known)),
      draws_(question.variance, 1, kDraws) {
  for (std::size_t i = 0; i < catalogue.size(); ++i)
    if (catalogue[i].is_calibrated) calibrated_.insert(i);
  for (const auto& [type, exposure] : known.spot)
    if (perfmodel::allows_fit(exposure.lives))
      survivals_[type] = perfmodel::fitted_survival(exposure.lives);
  learn_epochs();
  if (basis_ == perfmodel::PlanBasis::kJob)
    limits_ = question.limits;
  else if (question.limits.max_seconds || question.limits.max_cost)
    notes_.emplace_back("limits were set aside: nothing says how many epochs the job takes");
  notes_.insert(notes_.end(), types_.notes().begin(), types_.notes().end());
  if (question.running) {
    batches_ = {question.running->batch};
    for (const VmQuestion::RunningBatch& other : question.running->others)
      batches_.insert(other.batch);
    return;
  }
  if (question.batch) {
    batches_ = {*question.batch};
    return;
  }
  for (const perfmodel::TimeRow& row : known.record.times) batches_.insert(row.batch_size);
  if (basis_ == perfmodel::PlanBasis::kJob)
    for (const perfmodel::EpochRow& row : known.record.epochs) batches_.insert(row.batch_size);
}

// ---- The length of the job. ----

void VmPredictor::learn_epochs() {
  if (question_.running) return;
  const perfmodel::Observations all = perfmodel::observations_of(known_.record);
  if (!perfmodel::tells_epochs(all.epochs, all.noise, all.noise_scale)) {
    basis_ = perfmodel::PlanBasis::kEpoch;
    return;
  }
  epochs_ = perfmodel::choose_statistical_model(all.epochs, all.noise, all.noise_scale).model;
  if (!epochs_->relative()) return;
  basis_ = perfmodel::PlanBasis::kReferenceEpoch;
  reference_batch_ = epochs_->reference_batch();
}

// False if the line was followed too far.
bool VmPredictor::fill_epochs(double batch, perfmodel::JobOutlook& outlook) const {
  if (question_.running) {
    outlook.iterations = question_.running->iterations;
    outlook.log_epochs_spread = question_.running->log_iterations_spread;
    for (const VmQuestion::RunningBatch& other : question_.running->others) {
      if (other.batch != batch) continue;
      outlook.iterations = other.iterations;
      outlook.log_epochs_spread =
          std::hypot(outlook.log_epochs_spread, other.log_iterations_spread);
    }
    return true;
  }
  const perfmodel::Estimate epochs =
      epochs_ ? epochs_->epochs(batch) : perfmodel::Estimate{1.0, 0.0, 1.0, 1.0};
  if (!(epochs.value > 0.0)) return false;
  outlook.iterations = epochs.value * samples_ / batch;
  const double relative = std::min(epochs.standard_error / epochs.value, 1.0);
  outlook.log_epochs_spread = epochs_ ? std::hypot(relative, kSeedSpread) : 0.0;
  return true;
}

// ---- A probe. ----

double VmPredictor::probe_dollars(const VmGroup& group) const {
  constexpr double kSecondsOfHour = 3600.0;
  const double probed = question_.probe_seconds / kSecondsOfHour;  // hours
  const double alone = (question_.start_seconds / kSecondsOfHour + probed) * group.price_per_hour;
  if (!question_.running) return alone;
  const VmQuestion::Running& running = *question_.running;
  const auto present = types_.places().find(running.present);
  if (present == types_.places().end() || !(running.workers > 0.0)) return alone;
  const auto log_seconds = [&](std::size_t type, double vms, double share) {
    return model_.predict(MachineUse{type, vms, 1.0, share}).log_mean;
  };
  const double now = log_seconds(present->second, running.workers, running.batch / running.workers);
  const double then = log_seconds(group.type_index, running.workers + 1.0,
                                  first_probe_share(running.batch, running.workers));
  const double longer = probed * (std::exp(std::max(0.0, then - now)) - 1.0);
  return alone + longer * (group.price_per_hour + running.price_per_hour);
}

// ---- One cluster. ----

// The shares with which all workers compute for the same time (dynamic; elastic/batching), or the
// same for all.
bool VmPredictor::balance(std::span<const VmPart> parts, double batch,
                          std::vector<VmGroup>& groups) const {
  double vms = 0.0;
  for (const VmPart& part : parts) vms += part.vms;
  if (batch < vms) return false;
  for (const VmPart& part : parts)
    groups.push_back({part.type->features.name, types_.places().at(part.type->features.name),
                      part.vms, part.spot, batch / vms,
                      part.spot ? part.type->spot_price.value() : part.type->price});
  const auto compute_seconds = [&](const VmGroup& group, double share) {
    return iteration_seconds_of(model_.predict(MachineUse{group.type_index, vms, 1.0, share}))
        .compute;
  };
  if (groups.size() == 2 && question_.sharing == perfmodel::Sharing::kDynamic &&
      groups[0].type_index != groups[1].type_index) {
    constexpr int kHalvings = 12;
    double low = 1.0, high = (batch - groups[1].vms) / groups[0].vms;
    for (int i = 0; i < kHalvings && high > low; ++i) {
      const double share = 0.5 * (low + high);
      const double other = (batch - groups[0].vms * share) / groups[1].vms;
      (compute_seconds(groups[0], share) < compute_seconds(groups[1], other) ? low : high) = share;
    }
    groups[0].share = 0.5 * (low + high);
    groups[1].share = (batch - groups[0].vms * groups[0].share) / groups[1].vms;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto room = room_in_memory(*parts[i].type, known_);
    if (groups[i].share < 1.0 || (room && std::ceil(groups[i].share) > *room)) return false;
  }
  return true;
}

// The mean of a Gamma posterior: an exponential life with censoring knows losses and hours only.
double VmPredictor::losses_per_hour(const VmType& type) const {
  const double prior = type.spot_losses.value_or(question_.spot_losses_per_hour);
  const auto seen = known_.spot.find(type.features.name);
  if (seen == known_.spot.end()) return prior;
  const double weight = question_.spot_losses_weight_hours;
  return (prior * weight + seen->second.losses) / (weight + seen->second.vm_hours);
}

// Mean losses of one VM within some time, about `seconds`; nothing if too few were seen.
std::function<double(double)> VmPredictor::losses_by_age(const VmType& type, double seconds) const {
  const auto found = survivals_.find(type.features.name);
  if (found == survivals_.end()) return {};
  return [losses = perfmodel::RenewalLosses(*found->second, question_.start_seconds,
                                            kLongerThanMedian * seconds)](double until) {
    return losses.until(until);
  };
}

// `seconds`: the median of the job's time.
perfmodel::SpotRisk VmPredictor::risk_of(std::span<const VmPart> parts, double seconds) const {
  perfmodel::SpotRisk risk;
  risk.replacement_seconds = question_.start_seconds;
  risk.standstill_seconds = question_.standstill_seconds;
  std::vector<std::pair<double, std::function<double(double)>>> curves;  // VMs; losses of each
  for (const VmPart& part : parts) {
    if (!part.spot) continue;
    risk.vms += part.vms;
    const double per_hour = losses_per_hour(*part.type);
    risk.losses_per_vm_hour += part.vms * per_hour;
    auto by_age = losses_by_age(*part.type, seconds);
    if (!by_age) by_age = [per_hour](double until) { return per_hour * until / 3600.0; };
    curves.emplace_back(part.vms, std::move(by_age));
    risk.price_per_hour += part.vms * *part.type->spot_price;
  }
  risk.losses_per_vm_hour /= risk.vms;
  risk.mean_losses = [curves = std::move(curves), vms = risk.vms](double until) {
    double losses = 0.0;
    for (const auto& [count, by_age] : curves) losses += count * by_age(until);
    return losses / vms;
  };
  risk.price_per_hour /= risk.vms;
  return risk;
}

// Seconds that are charged for a machine in any case. A running job's own have been paid for.
double VmPredictor::least_bill(std::span<const VmPart> parts) const {
  double least = 0.0;
  for (const VmPart& part : parts)
    if (!question_.running || part.type->features.name != question_.running->present)
      least = std::max(least, part.type->minimum_seconds);
  return least;
}

VmEvidence VmPredictor::evidence_of(const MachineUse& use) const {
  VmEvidence best =
      calibrated_.contains(use.type) ? VmEvidence::kCalibrated : VmEvidence::kCatalogue;
  for (const perfmodel::MachineObservation& o : model_.observations()) {
    if (o.use.type != use.type) continue;
    best = std::max(best, VmEvidence::kProfiled);
    if (!o.use.is_alone && o.use.vms == use.vms && o.use.local_batch == use.local_batch)
      return VmEvidence::kMeasured;
  }
  return best;
}

DeadlineGuard VmPredictor::guard_of(std::span<const VmPart> parts, double batch) const {
  std::vector<VmPart> safe(parts.begin(), parts.end());
  for (VmPart& part : safe) part.spot = false;
  const auto on_demand = row(safe, batch);
  return {*limits_.max_seconds - on_demand->outcome.seconds.q90, on_demand->outcome.cost.q90};
}

std::optional<VmRow> VmPredictor::row(std::span<const VmPart> parts, double batch) const {
  VmRow row;
  if (!balance(parts, batch, row.groups)) return std::nullopt;
  row.batch = batch;
  perfmodel::JobOutlook outlook;
  outlook.vms = row.vms();
  row.evidence = VmEvidence::kMeasured;
  double spread = 0.0;
  IterationSeconds longest;
  for (const VmGroup& group : row.groups) {
    const MachineUse use{group.type_index, outlook.vms, 1.0, group.share};
    const MachinePrediction prediction = model_.predict(use);
    // A mix waits for its slower link, and for the slower group if a share could not follow it.
    const IterationSeconds own = iteration_seconds_of(prediction);
    longest = {std::max(longest.compute, own.compute), std::max(longest.sync, own.sync)};
    const double weight = group.vms * group.share / batch;
    outlook.errors.push_back(
        {perfmodel::type_stream(group.type), weight * std::sqrt(prediction.log_variance)});
    spread += outlook.errors.back().log_spread;
    row.evidence = std::min(row.evidence, evidence_of(use));
    row.price_per_hour += group.vms * group.price_per_hour;
  }
  if (row.is_mix() && row.evidence == VmEvidence::kMeasured) row.evidence = VmEvidence::kProfiled;
  row.log_variance = spread * spread;
  const double alike = longest.compute + longest.sync;  // if VMs of a type are alike
  outlook.log_iteration_seconds = std::log(alike);
  row.iteration_seconds = alike;
  if (row.evidence != VmEvidence::kMeasured)
    row.iteration_seconds +=
        longest.compute * (draws_.mean_slowdown(outlook.vms, question_.sharing) - 1.0);
  outlook.sync_share = longest.sync / alike;
  if (!fill_epochs(batch, outlook)) return std::nullopt;
  const bool whole = basis_ == perfmodel::PlanBasis::kJob;
  outlook.startup_seconds = whole && !question_.running ? question_.start_seconds : 0.0;
  outlook.price.worker_per_hour = row.price_per_hour / outlook.vms;
  outlook.price.fixed_per_hour = question_.fixed_price_per_hour;
  outlook.price.billing.minimum_seconds = least_bill(parts);
  if (!whole) outlook.price.billing = perfmodel::kExactBilling;
  outlook.sharing = question_.sharing;
  const bool has_spot = row.spot_share() > 0.0;
  if (has_spot)
    outlook.spot = risk_of(parts, outlook.iterations * std::exp(outlook.log_iteration_seconds));
  row.outcome = draws_.of(outlook, limits_);
  if (has_spot && limits_.max_seconds) row.guard = guard_of(parts, batch);
  return row;
}

}  // namespace scavenger::elastic
