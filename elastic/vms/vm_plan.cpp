#include "elastic/vms/vm_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <utility>

#include "elastic/vms/vm_predictor.h"
#include "elastic/vms/vm_pruning.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

using perfmodel::MachineUse;

// A mix has to be better by this much, beside its error: it is more to look after.
constexpr double kMixMargin = 0.02;
constexpr std::size_t kMixTypes = 6;  // rows from which mixes are made

// Every number up to kEveryCount, steps of an eighth beyond it, and the most in any case.
constexpr double kEveryCount = 16.0;
std::vector<double> counts_to(double most) {
  std::vector<double> counts;
  for (double k = 1.0; k < std::floor(most); k = k < kEveryCount ? k + 1.0 : std::ceil(k * 1.125))
    counts.push_back(k);
  if (most >= 1.0) counts.push_back(std::floor(most));
  return counts;
}

class Planner final {
 public:
  Planner(const KnownModel& known, const std::vector<VmType>& catalogue, const VmQuestion& question)
      : catalogue_(catalogue), question_(question), predictor_(known, catalogue, question) {
    plan_.policy = question.policy;
    plan_.confidence = question.confidence;
    plan_.form = perfmodel::describe(predictor_.model().best().form());
    plan_.basis = predictor_.basis();
    plan_.reference_batch = predictor_.reference_batch();
    plan_.limits = predictor_.limits();
    plan_.notes = predictor_.notes();
  }

  VmPlan make() {
    for (const VmType& type : catalogue_)
      for (const bool spot : {false, true})
        if (!spot || (question_.spot && type.spot_price)) add_best(type, spot);
    if (predictor_.batches().empty())
      throw InputError({.what = "no iterations were measured in which all workers were of one type",
                        .where = "scavenger-plan vms",
                        .remedy = "name the batch size, --batch-size, or a run on one type"});
    if (plan_.rows.empty())
      throw InputError({.what = "no batch size that was measured fits on the machines",
                        .where = "scavenger-plan vms",
                        .remedy = "name other types, or allow more VMs: --max-vms"});
    sort_rows();
    if (question_.most_types > 1) add_best_mix();
    decide();
    return std::move(plan_);
  }

 private:
  bool keeps_limits(const VmRow& row) const { return row.outcome.within_both >= plan_.confidence; }

  // Of rows that do not keep the limits: larger is nearer to them. Among equally likely ones that
  // one is whose medians are least beyond the limits.
  std::pair<double, double> nearness(const VmRow& row) const {
    const auto excess = [](double median, const std::optional<double>& limit) {
      return limit ? std::max(0.0, median / *limit - 1.0) : 0.0;
    };
    const perfmodel::Outcome& outcome = row.outcome;
    return {outcome.within_both, -excess(outcome.seconds.q50, plan_.limits.max_seconds) -
                                     excess(outcome.cost.q50, plan_.limits.max_cost)};
  }

  bool is_better(const VmRow& a, const VmRow& b) const {
    if (keeps_limits(a) != keeps_limits(b)) return keeps_limits(a);
    if (!keeps_limits(a)) {
      const std::pair near_a = nearness(a), near_b = nearness(b);
      if (near_a != near_b) return near_a > near_b;
    }
    return policy_figure(a, plan_.policy) < policy_figure(b, plan_.policy);
  }

  void sort_rows() {
    std::ranges::stable_sort(plan_.rows, {}, [this](const VmRow& row) {
      return std::pair(!keeps_limits(row), policy_figure(row, plan_.policy));
    });
  }

  double most_of(const VmType& type) const {
    double most = std::min(question_.most_vms, type.max_count.value_or(question_.most_vms));
    if (question_.most_vcpus && type.vcpus)
      most = std::min(most, std::floor(*question_.most_vcpus / *type.vcpus));
    return most;
  }

  // Of one type: the best that keeps the limits, else the one that keeps them likeliest.
  void add_best(const VmType& type, bool spot) {
    std::optional<VmRow> best;
    for (const double vms : counts_to(most_of(type)))
      for (const double batch : predictor_.batches()) {
        const std::array parts = {VmPart{&type, spot, vms}};
        std::optional<VmRow> row = predictor_.row(parts, batch);
        if (row && (!best || is_better(*row, *best))) best = std::move(row);
      }
    if (best) plan_.rows.push_back(std::move(*best));
  }

  // ---- Mixes. ----

  const VmType& type_of(const VmRow& row) const {
    return *std::ranges::find(catalogue_, row.base().type,
                              [](const VmType& type) { return type.features.name; });
  }

  bool fits_quota(const VmPart& a, const VmPart& b) const {
    if (a.vms + b.vms > question_.most_vms) return false;
    if (a.type == b.type && a.type->max_count && a.vms + b.vms > *a.type->max_count) return false;
    return !question_.most_vcpus || !a.type->vcpus || !b.type->vcpus ||
           a.vms * *a.type->vcpus + b.vms * *b.type->vcpus <= *question_.most_vcpus;
  }

  void try_mixes(const VmRow& a, const VmRow& b, double batch, std::optional<VmRow>& best) const {
    const VmType& first = type_of(a);
    const VmType& second = type_of(b);
    for (const double k : counts_to(most_of(first)))
      for (const double l : counts_to(most_of(second))) {
        const std::array parts = {VmPart{&first, a.base().spot, k},
                                  VmPart{&second, b.base().spot, l}};
        if (!fits_quota(parts[0], parts[1])) continue;
        std::optional<VmRow> row = predictor_.row(parts, batch);
        if (row && (!best || is_better(*row, *best))) best = std::move(row);
      }
  }

  // Better than the best plan of one type by more than what is not known of the difference: of the
  // part that both have in common the error is the same.
  bool is_beyond_error(const VmRow& mix) const {
    const VmRow& pure = plan_.rows.front();
    if (!keeps_limits(mix))
      return !keeps_limits(pure) && mix.outcome.within_both > pure.outcome.within_both + 0.05;
    if (!keeps_limits(pure)) return true;
    const double gain =
        std::log(policy_figure(pure, plan_.policy) / policy_figure(mix, plan_.policy));
    double common = 0.0;  // share of the mix's work that the pure plan's type does
    for (const VmGroup& group : mix.groups)
      if (group.type == pure.base().type) common += group.vms * group.share / mix.batch;
    const double error = (1.0 - common) * std::sqrt(std::max(mix.log_variance, pure.log_variance));
    return gain > std::hypot(kMixMargin, error);
  }

  void add_best_mix() {
    std::optional<VmRow> best;
    const std::size_t rows = std::min(plan_.rows.size(), kMixTypes);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = i + 1; j < rows; ++j)
        try_mixes(plan_.rows[i], plan_.rows[j], plan_.rows[i].batch, best);
    if (!best || !is_beyond_error(*best)) return;
    plan_.rows.push_back(std::move(*best));
    sort_rows();
  }

  // ---- The choice. ----

  void decide() {
    if (!keeps_limits(plan_.rows.front())) return explain_none();
    constexpr std::size_t kFallbacks = 3;
    plan_.choice = 0;
    std::vector<std::string> seen;
    const auto is_new = [&seen](const VmGroup& group) {
      return std::ranges::count(seen, group.type) == 0;
    };
    for (const VmGroup& group : plan_.rows[0].groups) seen.push_back(group.type);
    for (std::size_t i = 1; i < plan_.rows.size() && plan_.fallbacks.size() < kFallbacks; ++i) {
      const VmRow& row = plan_.rows[i];
      if (!keeps_limits(row) || row.is_mix() || !is_new(row.base())) continue;
      plan_.fallbacks.push_back(i);
      seen.push_back(row.base().type);
    }
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
    const auto nearest = std::ranges::max_element(
        plan_.rows, {}, [this](const VmRow& row) { return nearness(row); });
    plan_.nearest = static_cast<std::size_t>(std::distance(plan_.rows.begin(), nearest));
  }

  // The largest expected gain of knowing a type's speed that repays the price of asking one VM,
  // within the budget for that.
  void find_probe() {
    const VmRow& choice = plan_.rows[*plan_.choice];
    const double job_cost = choice.outcome.cost.q50;
    const bool whole = plan_.basis == perfmodel::PlanBasis::kJob;
    double largest = 0.0;
    for (std::size_t i = 0; i < plan_.rows.size(); ++i) {
      const VmRow& row = plan_.rows[i];
      if (row.evidence == VmEvidence::kMeasured || row.is_mix()) continue;
      if (question_.running && question_.running->tried.contains(row.base().type)) continue;
      // The choice may turn out to be worse than the runner-up, any other better than the choice.
      if (i == *plan_.choice && plan_.fallbacks.empty()) continue;
      const VmRow& rival = i == *plan_.choice ? plan_.rows[plan_.fallbacks.front()] : row;
      const double log_rival =
          std::log(policy_figure(rival, plan_.policy) / policy_figure(choice, plan_.policy));
      const VmGroup& group = row.base();
      const MachineUse use{group.type_index, group.vms, 1.0, group.share};
      const double after =
          predictor_.model().variance_after(use, {group.type_index, 1.0, 1.0, use.local_batch});
      const double spread = std::sqrt(std::max(0.0, row.log_variance - after));
      if (spread < 1e-6) continue;
      const double gain = expected_gain(log_rival, spread);
      const double dollars = predictor_.probe_dollars(group);
      // Of an unknown length, only a budget that was named can be kept.
      if (question_.profile_budget ? dollars > *question_.profile_budget
                                   : whole && dollars > kProbeShare * job_cost)
        continue;
      const bool repays = !whole || gain * job_cost > dollars;
      if (!repays || gain <= std::max(largest, 0.01)) continue;
      largest = gain;
      plan_.probe = VmProbe{i, dollars, gain};
    }
  }

  const std::vector<VmType>& catalogue_;
  const VmQuestion& question_;
  VmPlan plan_;
  VmPredictor predictor_;
};

}  // namespace

const char* name_of(VmEvidence evidence) {
  switch (evidence) {
    case VmEvidence::kCatalogue:
      return "catalogue";
    case VmEvidence::kCalibrated:
      return "calibrated";
    case VmEvidence::kProfiled:
      return "profiled";
    case VmEvidence::kMeasured:
      break;
  }
  return "measured";
}

double VmRow::vms() const {
  double total = 0.0;
  for (const VmGroup& group : groups) total += group.vms;
  return total;
}

double VmRow::spot_share() const {
  double spot = 0.0;
  for (const VmGroup& group : groups) spot += group.spot ? group.vms : 0.0;
  return spot / vms();
}

double policy_figure(const VmRow& row, Policy policy) {
  const double seconds = row.outcome.seconds.q50, cost = row.outcome.cost.q50;
  if (policy == Policy::kMinimumTime) return seconds;
  return policy == Policy::kMinimumCost ? cost : std::sqrt(seconds * cost);
}

std::string name_text(const VmRow& row) {
  std::vector<std::string> parts;
  for (const VmGroup& group : row.groups)
    parts.push_back(
        fmt::format("{:.0f} x {}{}", group.vms, group.type, group.spot ? " (spot)" : ""));
  return fmt::format("{}, B = {:.0f}", fmt::join(parts, " + "), row.batch);
}

// E[max(0, spread x - log_rival)] of a standard normal x.
double expected_gain(double log_rival, double spread) {
  const boost::math::normal normal;
  const double z = -log_rival / spread;
  return spread * (z * cdf(normal, z) + pdf(normal, z));
}

VmPlan make_vm_plan(const KnownModel& model, const std::vector<VmType>& types,
                    const VmQuestion& question) {
  std::vector<VmType> left = types;
  std::vector<PrunedType> pruned = prune_types(left, model, question);
  if (left.empty())
    throw InputError(
        {.what = pruned.empty() ? "no machine type is left to choose from"
                                : fmt::format("no machine type is left to choose from: of {} {}",
                                              pruned.front().type, pruned.front().why),
         .where = "scavenger-plan vms",
         .remedy = "check --types, --catalog and --max-vcpus, and whether the catalogue has "
                   "the machine on which the job ran"});
  VmQuestion asked = question;
  for (const VmType& type : types) asked.other_types.push_back(type.features);
  VmPlan plan = Planner(model, left, asked).make();
  plan.pruned = std::move(pruned);
  return plan;
}

}  // namespace scavenger::elastic
