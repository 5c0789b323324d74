#include "elastic/planning/vm_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "perfmodel/epochs/statistical_model.h"
#include "perfmodel/store/observations.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

using perfmodel::MachineModel;
using perfmodel::MachineUse;

constexpr double kStartSeconds = 90.0;  // median of VM starts on Compute Engine: 67 to 92
constexpr double kProbeSeconds = 60.0;  // three local batch sizes, 20 iterations each
constexpr double kSeedSpread = 0.05;    // of ln(epochs) between seeds; MLPerf's median is 0.034

// The catalogue's types, and those that the job ran on and that the catalogue lacks.
struct Types {
  std::vector<perfmodel::MachineFeatures> features;
  std::map<std::string, std::size_t> places;
};

Types types_of(const perfmodel::ModelRecord& record, const std::vector<VmType>& catalogue) {
  Types types;
  const auto add = [&types](const perfmodel::MachineFeatures& features) {
    if (types.places.emplace(features.name, types.features.size()).second)
      types.features.push_back(features);
  };
  for (const VmType& type : catalogue) add(type.features);
  for (const perfmodel::TimeRow& row : record.times) {
    perfmodel::MachineFeatures unknown;
    unknown.name = row.machine;
    add(unknown);
  }
  return types;
}

std::vector<perfmodel::MachineObservation> observations_of(const perfmodel::ModelRecord& record,
                                                           const Types& types) {
  std::vector<perfmodel::MachineObservation> observations;
  std::set<std::string> machines;
  for (const perfmodel::TimeRow& row : record.times) machines.insert(row.machine);
  for (const std::string& machine : machines) {
    perfmodel::ModelRecord own = record;
    std::erase_if(own.times, [&](const perfmodel::TimeRow& row) { return row.machine != machine; });
    for (const perfmodel::TimeObservation& o : perfmodel::observations_of(own).times)
      observations.push_back(
          {{types.places.at(machine), o.configuration.workers, 1.0, o.configuration.local_batch()},
           o.seconds,
           o.standard_error});
  }
  return observations;
}

// Iterations at a batch size.
class Epochs final {
 public:
  Epochs(const perfmodel::ModelRecord& record, double samples, VmPlan& plan) : samples_(samples) {
    const perfmodel::Observations all = perfmodel::observations_of(record);
    if (!perfmodel::tells_epochs(all.epochs, all.noise, all.noise_scale)) {
      plan.basis = perfmodel::PlanBasis::kEpoch;
      return;
    }
    model_ = perfmodel::choose_statistical_model(all.epochs, all.noise, all.noise_scale).model;
    if (!model_->relative()) return;
    plan.basis = perfmodel::PlanBasis::kReferenceEpoch;
    plan.reference_batch = model_->reference_batch();
  }

  // Nothing if the line was followed too far.
  bool fill(double batch, perfmodel::JobOutlook& outlook) const {
    const perfmodel::Estimate epochs =
        model_ ? model_->epochs(batch) : perfmodel::Estimate{1.0, 0.0, 1.0, 1.0};
    if (!(epochs.value > 0.0)) return false;
    outlook.iterations = epochs.value * samples_ / batch;
    const double relative = std::min(epochs.standard_error / epochs.value, 1.0);
    outlook.log_epochs_spread = model_ ? std::hypot(relative, kSeedSpread) : 0.0;
    return true;
  }

 private:
  double samples_;
  std::optional<perfmodel::StatisticalModel> model_;
};

std::vector<double> counts_to(double most) {
  std::vector<double> counts;
  for (double k = 1.0; k <= most; k = k < 4.0 ? k + 1.0 : std::ceil(k * 1.3)) counts.push_back(k);
  return counts;
}

// The policy's figure of a row: smaller is better.
double figure(const VmRow& row, Policy policy) {
  const double seconds = row.outcome.seconds.q50, cost = row.outcome.cost.q50;
  if (policy == Policy::kMinimumTime) return seconds;
  return policy == Policy::kMinimumCost ? cost : std::sqrt(seconds * cost);
}

class Planner final {
 public:
  Planner(const KnownModel& known, const std::vector<VmType>& catalogue, const VmQuestion& question)
      : known_(known),
        catalogue_(catalogue),
        question_(question),
        types_(types_of(known.record, catalogue)),
        model_(types_.features, observations_of(known.record, types_)),
        epochs_(known.record, samples(), plan_) {
    plan_.policy = question.policy;
    plan_.confidence = question.confidence;
    plan_.form = perfmodel::describe(model_.best().form());
    if (plan_.basis == perfmodel::PlanBasis::kJob)
      plan_.limits = question.limits;
    else if (question.limits.max_seconds || question.limits.max_cost)
      plan_.notes.push_back("limits were set aside: nothing says how many epochs the job takes");
  }

  VmPlan make() {
    note_unknown_types();
    for (const VmType& type : catalogue_)
      for (const bool spot : {false, true})
        if (!spot || (question_.spot && type.spot_price)) add_best(type, spot);
    if (plan_.rows.empty())
      throw InputError({.what = "no batch size that was measured fits on the machines",
                        .where = "scavenger-plan vms",
                        .remedy = "name other types, or allow more VMs: --max-vms"});
    std::ranges::stable_sort(plan_.rows, {}, [this](const VmRow& row) {
      return std::pair(!keeps_limits(row), figure(row, plan_.policy));
    });
    decide();
    return std::move(plan_);
  }

 private:
  double samples() const {
    const auto recorded = static_cast<double>(known_.record.signature.samples_per_epoch);
    const double samples = question_.samples_per_epoch.value_or(recorded);
    if (samples > 0.0) return samples;
    throw DataError({.what = "the number of samples of an epoch is not known",
                     .where = "scavenger-plan vms",
                     .remedy = "give it: --samples 60000"});
  }

  bool keeps_limits(const VmRow& row) const { return row.outcome.within_both >= plan_.confidence; }

  void note_unknown_types() {
    for (std::size_t i = catalogue_.size(); i < types_.features.size(); ++i)
      plan_.notes.push_back(fmt::format(
          "the catalogue does not know \"{}\", on which the job ran: what it says of the other "
          "types is little; add it to a catalogue file",
          types_.features[i].name));
  }

  std::set<double> batches() const {
    std::set<double> sizes;
    for (const perfmodel::TimeRow& row : known_.record.times) sizes.insert(row.batch_size);
    if (plan_.basis == perfmodel::PlanBasis::kJob)
      for (const perfmodel::EpochRow& row : known_.record.epochs) sizes.insert(row.batch_size);
    return sizes;
  }

  VmEvidence evidence_of(const MachineUse& use) const {
    VmEvidence best = VmEvidence::kCatalogue;
    for (const perfmodel::MachineObservation& o : model_.observations()) {
      if (o.use.type != use.type) continue;
      best = std::max(best, VmEvidence::kProfiled);
      if (o.use.vms == use.vms && o.use.local_batch == use.local_batch)
        return VmEvidence::kMeasured;
    }
    return best;
  }

  std::optional<VmRow> row_of(const VmType& type, bool spot, double vms, double batch) const {
    if (batch < vms) return std::nullopt;
    if (known_.room_samples && batch / vms > static_cast<double>(*known_.room_samples))
      return std::nullopt;
    VmRow row;
    row.type = type.features.name;
    row.type_index = types_.places.at(row.type);
    row.vms = vms;
    row.batch = batch;
    row.spot = spot;
    const double price = spot ? *type.spot_price : type.price;
    row.price_per_hour = vms * price;
    const MachineUse use{row.type_index, vms, 1.0, batch / vms};
    const perfmodel::MachinePrediction prediction = model_.predict(use);
    row.iteration_seconds = std::exp(prediction.log_mean);
    row.log_variance = prediction.log_variance;
    row.evidence = evidence_of(use);
    perfmodel::JobOutlook outlook;
    outlook.type_stream = std::hash<std::string>{}(row.type) % 1000003U;
    outlook.vms = vms;
    outlook.log_iteration_seconds = prediction.log_mean;
    outlook.log_iteration_spread = std::sqrt(prediction.log_variance);
    outlook.sync_share = std::clamp(prediction.sync_share, 0.0, 1.0);
    if (!epochs_.fill(batch, outlook)) return std::nullopt;
    const bool whole = plan_.basis == perfmodel::PlanBasis::kJob;
    outlook.startup_seconds = whole ? kStartSeconds : 0.0;
    outlook.price.worker_per_hour = price;
    if (!whole) outlook.price.billing = perfmodel::kExactBilling;
    outlook.sharing = question_.sharing;
    if (spot) outlook.spot = perfmodel::SpotRisk{question_.spot_losses_per_hour, kStartSeconds};
    row.outcome = draws_.of(outlook, question_.variance, plan_.limits);
    return row;
  }

  // Of one type: the best that keeps the limits, else the one that keeps them likeliest.
  void add_best(const VmType& type, bool spot) {
    std::optional<VmRow> best;
    for (const double vms : counts_to(std::min(question_.most_vms, type.max_count.value_or(1e9))))
      for (const double batch : batches()) {
        std::optional<VmRow> row = row_of(type, spot, vms, batch);
        if (row && (!best || is_better(*row, *best))) best = std::move(row);
      }
    if (best) plan_.rows.push_back(*best);
  }

  bool is_better(const VmRow& a, const VmRow& b) const {
    if (keeps_limits(a) != keeps_limits(b)) return keeps_limits(a);
    if (!keeps_limits(a) && a.outcome.within_both != b.outcome.within_both)
      return a.outcome.within_both > b.outcome.within_both;
    return figure(a, plan_.policy) < figure(b, plan_.policy);
  }

  void decide() {
    if (!keeps_limits(plan_.rows.front())) return explain_none();
    plan_.choice = 0;
    for (std::size_t i = 1; i < plan_.rows.size() && !plan_.runner_up; ++i)
      if (keeps_limits(plan_.rows[i]) && plan_.rows[i].type != plan_.rows[0].type)
        plan_.runner_up = i;
    find_probe();
  }

  void explain_none() {
    double time = 0.0, cost = 0.0;
    for (const VmRow& row : plan_.rows) {
      time = std::max(time, row.outcome.within_time);
      cost = std::max(cost, row.outcome.within_cost);
    }
    if (time < plan_.confidence) plan_.binding.emplace_back("max-time");
    if (cost < plan_.confidence) plan_.binding.emplace_back("max-cost");
    if (plan_.binding.empty()) plan_.binding = {"max-time", "max-cost"};
    // Among equals the one whose medians are least beyond the limits.
    const auto excess = [this](const VmRow& row) {
      const perfmodel::OutcomeLimits& limits = plan_.limits;
      double total = 0.0;
      if (limits.max_seconds)
        total += std::max(0.0, row.outcome.seconds.q50 / *limits.max_seconds - 1.0);
      if (limits.max_cost) total += std::max(0.0, row.outcome.cost.q50 / *limits.max_cost - 1.0);
      return total;
    };
    const auto nearest = std::ranges::max_element(plan_.rows, {}, [&](const VmRow& row) {
      return std::pair(row.outcome.within_both, -excess(row));
    });
    plan_.nearest = static_cast<std::size_t>(std::distance(plan_.rows.begin(), nearest));
  }

  // The largest expected gain of knowing a type's speed that repays the price of asking one VM.
  void find_probe() {
    const double incumbent = figure(plan_.rows[*plan_.choice], plan_.policy);
    double largest = 0.0;
    for (std::size_t i = 0; i < plan_.rows.size(); ++i) {
      const VmRow& row = plan_.rows[i];
      if (row.evidence == VmEvidence::kMeasured) continue;
      // The choice may turn out to be worse than the runner-up, any other better than the choice.
      if (i == *plan_.choice && !plan_.runner_up) continue;
      const double rival = i == *plan_.choice
                               ? figure(plan_.rows[*plan_.runner_up], plan_.policy) / incumbent
                               : figure(row, plan_.policy) / incumbent;
      const MachineUse use{row.type_index, row.vms, 1.0, row.batch / row.vms};
      const double after = model_.variance_after(use, {row.type_index, 1.0, 1.0, use.local_batch});
      const double spread = std::sqrt(std::max(0.0, row.log_variance - after));
      if (spread < 1e-6) continue;
      const boost::math::normal normal;
      const double z = -std::log(rival) / spread;
      const double gain = spread * (z * cdf(normal, z) + pdf(normal, z));
      const double dollars =
          (kStartSeconds + kProbeSeconds) / 3600.0 * row.price_per_hour / row.vms;
      const double job = plan_.rows[*plan_.choice].outcome.cost.q50;
      const bool repays = plan_.basis != perfmodel::PlanBasis::kJob || gain * job > dollars;
      if (repays && gain > std::max(largest, 0.01)) {
        largest = gain;
        plan_.probe = VmProbe{i, dollars, gain};
      }
    }
  }

  const KnownModel& known_;
  const std::vector<VmType>& catalogue_;
  const VmQuestion& question_;
  VmPlan plan_;
  Types types_;
  MachineModel model_;
  Epochs epochs_;
  perfmodel::OutcomeDraws draws_{1, 400};
};

}  // namespace

const char* name_of(VmEvidence evidence) {
  switch (evidence) {
    case VmEvidence::kCatalogue:
      return "catalogue";
    case VmEvidence::kProfiled:
      return "profiled";
    case VmEvidence::kMeasured:
      break;
  }
  return "measured";
}

VmPlan make_vm_plan(const KnownModel& model, const std::vector<VmType>& types,
                    const VmQuestion& question) {
  if (types.empty())
    throw InputError({.what = "no machine type is left to choose from",
                      .where = "scavenger-plan vms",
                      .remedy = "check --types and --catalog"});
  return Planner(model, types, question).make();
}

}  // namespace scavenger::elastic
