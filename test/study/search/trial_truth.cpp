#include "test/study/search/trial_truth.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "runtime/base/random.h"

namespace scavenger::perfmodel {
namespace {

// What every drawn cluster has of its own.
struct Draw {
  RandomStream stream;
  double per_sample = 0.0;
  double fixed = 0.0;
  double sync = 0.0;
  double power = 0.0;
  double overlap = 1.0;
  double cores = 64.0;
  double between(double low, double high) { return low + (high - low) * stream.uniform(); }
};

Draw draw_cluster(std::uint64_t number) {
  Draw d{RandomStream(number, "drawn truth")};
  d.per_sample = std::pow(10.0, d.between(-4.3, -2.7));
  d.fixed = d.per_sample * std::pow(10.0, d.between(0.3, 2.3));
  d.sync = d.per_sample * std::pow(10.0, d.between(0.3, 2.3));
  d.power = d.between(0.2, 0.8);
  d.overlap = d.between(1.0, 2.0);
  return d;
}

// AdaptDL's: the p-norm of compute and of a power of K.
double powers(const Draw& d, double workers, double batch) {
  const double compute = d.fixed + d.per_sample * batch / workers;
  const double waits = workers > 1.0 ? d.sync * std::pow(workers, d.power) : 0.0;
  return std::pow(std::pow(compute, d.overlap) + std::pow(waits, d.overlap), 1.0 / d.overlap);
}

// Nodes of four workers, whose network is slower than what is inside them; batches in tiles of 16.
double nodes(const Draw& d, double workers, double batch) {
  const double tiles = std::ceil(batch / workers / 16.0);
  const double compute = d.fixed + d.per_sample * 16.0 * tiles;
  const double inside = workers > 1.0 ? 0.2 * d.sync : 0.0;
  const double between = workers > 4.0 ? d.sync * (1.0 + std::log2(workers / 4.0)) : 0.0;
  return std::max(compute, 0.6 * compute + inside + between);
}

// Workers that share a machine's cores, and wait for each other.
double shared_machine(const Draw& d, double workers, double batch) {
  const double crowd = std::max(1.0, workers / d.cores);
  const double compute = (d.fixed + d.per_sample * batch / workers) * crowd;
  return compute * (1.0 + 0.05 * std::log2(workers)) + (workers > 1.0 ? 0.1 * d.sync * workers : 0);
}

}  // namespace

double objective_of(double seconds, double machine_seconds, Policy policy) {
  switch (policy) {
    case Policy::kMinimumTime:
      return seconds;
    case Policy::kMinimumCost:
      return machine_seconds;
    case Policy::kKnee:
      break;
  }
  return seconds * machine_seconds;
}

double TrialLoss::at(double u) const {
  return floor + (1.0 - quick) * std::pow(1.0 + u / knee, -decay) + quick * std::exp(-5.0 * u);
}

const TrialStage& TrialTruth::stage_at(double progress) const {
  return *std::ranges::find_if(stages, [&](const TrialStage& stage) {
    return progress < stage.end || &stage == &stages.back();
  });
}

double TrialTruth::epochs_factor(double progress, double batch) const {
  if (stages.empty()) return 1.0;
  std::set<double> batches;
  for (const TrialPoint& point : points) batches.insert(point.configuration.global_batch);
  const auto place = std::distance(batches.begin(), batches.find(batch));
  return stage_at(progress).epochs.at(static_cast<std::size_t>(place));
}

double TrialTruth::objective(const TrialPoint& point, Policy policy) const {
  const double seconds = job_seconds(point);
  return objective_of(seconds, seconds * point.configuration.workers, policy);
}

const TrialPoint& TrialTruth::oracle(Policy policy) const {
  return *std::min_element(points.begin(), points.end(), [&](const auto& a, const auto& b) {
    return objective(a, policy) < objective(b, policy);
  });
}

TrialTruth drawn_truth(std::uint64_t number) {
  Draw d = draw_cluster(number);
  const auto kind = d.stream.below(3);
  if (kind == 2) d.cores = std::pow(2.0, std::floor(d.between(1.0, 5.0)));
  TrialTruth truth;
  truth.name = kind == 0 ? "powers" : kind == 1 ? "nodes" : "shared machine";
  const double noise = std::pow(10.0, d.between(2.0, 3.7));
  const double sharpness = d.between(0.7, 1.5);
  // Of one job in six the rate limits progress, and a larger batch saves fewer iterations.
  // In one of six epochs fall with B, as in the paper's tables.
  const double kind_of_epochs = d.stream.uniform();
  const double limited = kind_of_epochs < 1.0 / 6.0   ? d.between(0.1, 0.4)
                         : kind_of_epochs > 5.0 / 6.0 ? d.between(-0.6, -0.1)
                                                      : 0.0;
  truth.noise_scale = noise * std::exp(0.25 * d.stream.normal());
  truth.first_noise_share = d.between(0.3, 1.0);
  truth.iteration_scatter = d.between(0.02, 0.15);
  const double smallest = std::pow(2.0, std::floor(d.between(5.0, 8.0)));
  std::vector<double> of_batch;
  for (int i = 0; i < 6; ++i) of_batch.push_back(std::exp(0.03 * d.stream.normal()));
  for (double workers = 1.0; workers <= 64.0; workers *= 2.0)
    for (int i = 0; i < 6; ++i) {
      const double batch = smallest * std::pow(2.0, i);
      if (batch < workers) continue;
      const double seconds = kind == 0   ? powers(d, workers, batch)
                             : kind == 1 ? nodes(d, workers, batch)
                                         : shared_machine(d, workers, batch);
      const double epochs = std::pow(1.0 + std::pow(batch / noise, sharpness), 1.0 / sharpness) *
                            std::pow(batch / smallest, limited) *
                            of_batch[static_cast<std::size_t>(i)];
      truth.points.push_back(
          {{workers, batch}, seconds * std::exp(0.03 * d.stream.normal()), epochs});
    }
  truth.loss = {.floor = d.between(0.0, 1.0),
                .knee = std::pow(10.0, d.between(-2.5, -0.5)),
                .decay = d.between(0.3, 1.5),
                .quick = d.between(0.0, 0.5),
                .offset = 0.005 * d.stream.normal(),
                .sample_scatter = d.between(0.5, 1.5)};
  return truth;
}

TrialTruth with_length(TrialTruth truth, Policy policy, double oracle_seconds) {
  const double factor = oracle_seconds / truth.job_seconds(truth.oracle(policy));
  for (TrialPoint& point : truth.points) point.epochs *= factor;
  return truth;
}

}  // namespace scavenger::perfmodel
