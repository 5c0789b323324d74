#include "test/study/vms/vm_trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace scavenger::elastic {
namespace {

double figure_of(const JobResult& result, Policy policy) {
  if (policy == Policy::kMinimumTime) return result.seconds;
  return policy == Policy::kMinimumCost ? result.cost : std::sqrt(result.seconds * result.cost);
}

bool keeps(const JobResult& result, const perfmodel::OutcomeLimits& limits) {
  return result.seconds <= *limits.max_seconds && result.cost <= *limits.max_cost;
}

// Of all plans of one type, with the VMs and losses of this run: the least figure that keeps both
// limits; nothing: none does.
std::optional<double> best_figure(const SimulatedJob& job, const VmQuestion& question) {
  std::optional<double> best;
  for (const VmType& type : job.types())
    for (const bool spot : {false, true})
      for (double vms = 1.0; vms <= question.most_vms; vms = std::ceil(vms * 1.3))
        for (const double batch : job.batches()) {
          if (spot && !question.spot) continue;
          const double price = spot ? *type.spot_price : type.price;
          VmRow row;
          row.groups = {{type.features.name, 0, vms, spot, batch / vms, price}};
          row.batch = batch;
          row.price_per_hour = vms * price;
          const JobResult result = job.run(row, perfmodel::Sharing::kDynamic);
          if (!keeps(result, question.limits)) continue;
          const double figure = figure_of(result, question.policy);
          if (!best || figure < *best) best = figure;
        }
  return best;
}

}  // namespace

VmTrial run_vm_trial(std::uint64_t number, const VmTrialSetting& setting) {
  const SimulatedJob job(number);
  VmQuestion question = drawn_question(job, number);
  question.most_types = setting.most_types;
  question.sharing = setting.sharing;
  KnownModel known = job.measured();
  std::vector<VmType> types = job.types();
  if (!setting.free_batch) question.batch = job.batches()[1];
  if (!setting.variance) {
    question.variance = {0.0, 0.0, 0.0, 0.0, 1.0, 1.0};
    question.confidence = 0.5;
  }
  if (!setting.transfer)
    for (VmType& type : types) {
      type.features.family = type.features.name;
      type.features.rate = type.features.core_rate = std::nullopt;
      type.features.memory_bandwidth = type.features.link = std::nullopt;
    }
  VmTrial trial;
  VmPlan plan = make_vm_plan(known, types, question);
  while (plan.probe && trial.auditions < setting.auditions) {
    const VmGroup& group = plan.rows[plan.probe->row].base();
    for (perfmodel::TimeRow& row : job.audition(job.place_of(group.type), group.share))
      known.record.compute.push_back(std::move(row));
    trial.audition_dollars += plan.probe->dollars;
    ++trial.auditions;
    plan = make_vm_plan(known, types, question);
  }
  for (const VmRow& row : plan.rows) {
    const JobResult result = job.run(row, setting.sharing);
    trial.intervals.push_back(
        {row.evidence,
         result.seconds<row.outcome.seconds.q10, result.seconds> row.outcome.seconds.q90});
    trial.time.push_back({row.outcome.within_time, result.seconds <= *question.limits.max_seconds});
    trial.cost.push_back({row.outcome.within_cost, result.cost <= *question.limits.max_cost});
  }
  const std::optional<double> best = best_figure(job, question);
  trial.is_feasible = best.has_value();
  if (!plan.choice) return trial;
  const VmRow& choice = plan.rows[*plan.choice];
  JobResult result = job.run(choice, setting.sharing);
  trial.both = Promise{choice.outcome.within_both, keeps(result, question.limits)};
  if (!best || !trial.both->held) return trial;
  result.cost += trial.audition_dollars;
  trial.regret = figure_of(result, question.policy) / *best - 1.0;
  return trial;
}

std::vector<ReliabilityBin> reliability(const std::vector<Promise>& promises) {
  constexpr std::array kEdges = {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0};
  std::vector<ReliabilityBin> bins;
  for (std::size_t i = 0; i + 1 < kEdges.size(); ++i) {
    ReliabilityBin bin{kEdges[i], kEdges[i + 1]};
    const bool is_last = i + 2 == kEdges.size();
    for (const Promise& promise : promises) {
      if (promise.probability < bin.low || (!is_last && promise.probability >= bin.high)) continue;
      bin.promised += promise.probability;
      bin.held += promise.held ? 1.0 : 0.0;
      ++bin.count;
    }
    if (bin.count == 0) continue;
    bin.promised /= static_cast<double>(bin.count);
    bin.held /= static_cast<double>(bin.count);
    bins.push_back(bin);
  }
  return bins;
}

}  // namespace scavenger::elastic
