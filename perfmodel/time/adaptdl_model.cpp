#include "perfmodel/time/adaptdl_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "perfmodel/fit/bounded_fit.h"
#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kSmallest = 1e-8;

AdaptDlParameters unpack(std::span<const double> x) {
  return {x[0], x[1], x[2], x[3], x[4], x[5], x[6]};
}

double compute_seconds(const AdaptDlParameters& p, double local_batch) {
  return p.compute_base + p.compute_per_sample * local_batch;
}

double square(double x) {
  return x * x;
}

double loss(std::span<const AdaptDlObservation> observations, const AdaptDlParameters& p) {
  double compute = 0.0, iteration = 0.0;
  for (const AdaptDlObservation& o : observations) {
    compute += square(std::log(compute_seconds(p, o.local_batch) / o.compute_seconds));
    iteration +=
        square(std::log(predict_adaptdl(p, o.nodes, o.workers, o.local_batch) / o.seconds));
  }
  const double n = static_cast<double>(observations.size());
  return std::sqrt(compute / n) + std::sqrt(iteration / n) + 1e-3 * square(p.overlap - 1.0) +
         1e-2 * (square(p.network_slope / p.network_base) + square(p.local_slope / p.local_base));
}

// What the observations show of the model's terms.
struct Shown {
  bool two_batches = false;
  bool several_nodes = false;
  bool several_workers_on_one_node = false;
  bool more_than_two_workers = false;
};

Shown shown_by(std::span<const AdaptDlObservation> observations) {
  Shown shown;
  std::set<double> batches;
  for (const AdaptDlObservation& o : observations) {
    batches.insert(o.local_batch);
    shown.several_nodes |= o.nodes > 1.0;
    shown.several_workers_on_one_node |= o.nodes == 1.0 && o.workers > 1.0;
    shown.more_than_two_workers |= o.workers > 2.0;
  }
  shown.two_batches = batches.size() > 1;
  return shown;
}

}  // namespace

double predict_adaptdl(const AdaptDlParameters& p, double nodes, double workers,
                       double local_batch) {
  const double compute = compute_seconds(p, local_batch);
  if (workers <= 1.0) return compute;
  const double others = std::max(workers - 2.0, 0.0);
  const double network = nodes > 1.0 ? p.network_base + p.network_slope * others
                                     : p.local_base + p.local_slope * others;
  const double larger = std::max(compute, network);
  return larger *
         std::pow(std::pow(compute / larger, p.overlap) + std::pow(network / larger, p.overlap),
                  1.0 / p.overlap);
}

AdaptDlParameters fit_adaptdl(std::span<const AdaptDlObservation> observations) {
  double mean_compute = 0.0;
  for (const AdaptDlObservation& o : observations) {
    if (!(o.seconds > 0.0) || !(o.compute_seconds > 0.0))
      throw DataError({.what = "an observation has a time that is not above 0",
                       .where = "AdaptDL's model",
                       .remedy = "remove it"});
    mean_compute += o.compute_seconds / static_cast<double>(observations.size());
  }
  if (observations.empty())
    throw DataError({.what = "there are no observations",
                     .where = "AdaptDL's model",
                     .remedy = "measure at least one configuration"});
  const Shown shown = shown_by(observations);
  Box box{std::vector<double>(7, kSmallest), std::vector<double>(7, 1e6)};
  box.low[6] = 1.0;
  box.high[6] = 10.0;
  std::vector<double> start{0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001};
  const auto pin = [&](std::size_t index, double value) {
    box.low[index] = box.high[index] = start[index] = value;
  };
  if (!shown.two_batches) pin(0, mean_compute / 2.0);
  if (!shown.several_nodes) pin(2, kSmallest);
  if (!shown.several_workers_on_one_node) pin(4, kSmallest);
  if (!shown.several_nodes || !shown.more_than_two_workers) pin(3, kSmallest);
  if (!shown.several_workers_on_one_node || !shown.more_than_two_workers) pin(5, kSmallest);
  AdaptDlParameters fitted = unpack(minimise_in_box(
      [&](std::span<const double> x) { return loss(observations, unpack(x)); }, start, box));
  if (!shown.several_nodes) {
    fitted.network_base = std::max(fitted.network_base, 1.1 * fitted.local_base);
    fitted.network_slope = std::max(fitted.network_slope, 1.1 * fitted.local_slope);
  }
  return fitted;
}

}  // namespace scavenger::perfmodel
