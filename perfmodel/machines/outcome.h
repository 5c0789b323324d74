// Time and cost of a whole job as distributions: what is not known of the model, what differs
// between VMs of one type, and what the cloud takes away, drawn many times.
//
// All candidates share their draws (common random numbers), so that two of them differ by what
// differs between them. Pure; the same seed gives the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "perfmodel/plan/cost.h"
#include "perfmodel/time/mixed_cluster.h"

namespace scavenger::perfmodel {

// Standard deviations of the logarithm of a VM's speed. Defaults are from public measurements of
// fresh VMs (docs/machines.md); a store of ten VMs of a type and more knows better.
struct SpeedVariance {
  double between_vms = 0.03;  // drawn once for each VM
  double drift = 0.03;        // of the whole job: neighbours, the network, the hour
  double iterations = 0.05;   // of one iteration; averages out
  // With shares that follow the VMs' speeds: what their seconds may differ by before shares do.
  double dead_band = 0.06;
  // Rare VMs that are slower by a factor between these.
  double lemon_probability = 0.03;
  double lemon_mildest = 1.2;
  double lemon_worst = 1.4;
};

struct SpotRisk {
  double vms = 0.0;  // of the outlook's, the others cannot be taken away; 0: all
  double losses_per_vm_hour = 0.0;
  // Mean losses of one VM and those in its place within so many seconds, if the rate depends on
  // their age (perfmodel/survival/renewal_losses.h). Empty: the constant rate above.
  std::function<double(double seconds)> mean_losses{};
  double replacement_seconds = 120.0;  // from the loss until the replacement computes
  double standstill_seconds = 0.0;     // of the whole job, for each loss: work done again
  double price_per_hour = 0.0;         // of one spot VM, which an absent one does not cost
};

// What the model does not know of one machine type. Candidates with the type share its errors.
struct ModelError {
  std::uint64_t type_stream = 0;
  double log_spread = 0.0;  // standard deviation of ln(seconds per iteration)
};

// One candidate: a job on `vms` machines.
struct JobOutlook {
  double vms = 1.0;
  double log_iteration_seconds = 0.0;
  std::vector<ModelError> errors;  // of each of its types, weighted by the type's share
  double sync_share = 0.0;         // of an iteration
  double iterations = 1.0;
  double log_epochs_spread = 0.0;  // standard deviation of ln(epochs), between seeds too
  double startup_seconds = 0.0;    // until all VMs compute; paid for
  ClusterPrice price;
  Sharing sharing = Sharing::kDynamic;
  std::optional<SpotRisk> spot;
};

struct Quantiles {
  double q10 = 0.0;
  double q50 = 0.0;
  double q90 = 0.0;
};

struct Outcome {
  Quantiles seconds;
  Quantiles cost;       // dollars
  double losses = 0.0;  // mean number of VMs that are taken away
  // Shares of the draws that keep the limit; 1 where there is none.
  double within_time = 1.0;
  double within_cost = 1.0;
  double within_both = 1.0;
};

struct OutcomeLimits {
  std::optional<double> max_seconds{};
  std::optional<double> max_cost{};
};

// The same for the same name on every machine.
std::uint64_t type_stream(std::string_view type);

// Keeps the draws that candidates share, so that it is for one thread at a time.
class OutcomeDraws final {
 public:
  explicit OutcomeDraws(const SpeedVariance& variance = {}, std::uint64_t seed = 1,
                        std::size_t draws = 1000);

  // Requires vms >= 1, iterations > 0.
  Outcome of(const JobOutlook& outlook, const OutcomeLimits& limits = {}) const;

  // E[slowdown] of `vms` machines against a machine of median speed: of the slowest with even
  // shares, of the mean speed with dynamic ones, which stay even within the dead band.
  double mean_slowdown(double vms, Sharing sharing) const;

 private:
  using Column = std::vector<double>;  // a value for each draw

  const Column& normals(std::uint64_t stream, std::uint64_t item) const;
  const Column& vm_seconds(std::size_t vm) const;  // relative to a machine of median speed
  const Column& slowdowns(double vms, Sharing sharing) const;

  SpeedVariance variance_;
  std::uint64_t seed_;
  std::size_t draws_;
  mutable std::map<std::pair<std::uint64_t, std::uint64_t>, Column> normals_;
  mutable std::map<std::size_t, Column> vm_seconds_;
  mutable std::map<std::pair<std::size_t, Sharing>, Column> slowdowns_;
};

}  // namespace scavenger::perfmodel
