// Which machine type, how many, and which batch size, under limits that are to hold with a stated
// probability; two types at most, spot or not. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elastic/plan/known_model.h"
#include "elastic/vms/vm_types.h"
#include "perfmodel/machines/machine_model.h"
#include "perfmodel/machines/outcome.h"
#include "perfmodel/plan/plan_basis.h"
#include "perfmodel/plan/policy.h"

namespace scavenger::elastic {

struct VmQuestion {
  Policy policy = Policy::kMinimumCost;
  perfmodel::OutcomeLimits limits;
  double confidence = 0.9;  // with which both limits have to hold
  bool spot = false;        // spot machines count, too
  // Of each VM, if its type has no figure of its own; what runs have seen weighs by its hours
  // against `spot_losses_weight_hours` of it.
  double spot_losses_per_hour = 0.05;
  double spot_losses_weight_hours = 20.0;
  double most_vms = 16.0;
  std::optional<double> most_vcpus;   // of all VMs together: a quota
  std::size_t most_types = 1;         // 2: mixes of two types count, too
  std::optional<double> batch;        // B; nothing: the best of those that were measured
  double fixed_price_per_hour = 0.0;  // of the machine of the controller and its shards
  // Dollars that a probe may cost; nothing: kProbeShare of what the choice is expected to cost.
  std::optional<double> profile_budget;
  perfmodel::Sharing sharing = perfmodel::Sharing::kDynamic;
  std::optional<double> samples_per_epoch;  // else as recorded
  // Another batch size that a running job may go on with.
  struct RunningBatch {
    double batch = 0.0;
    double iterations = 0.0;             // that are left at it, the mean
    double log_iterations_spread = 0.0;  // standard deviation of their logarithm
  };
  // Of a running job: its batch size, the iterations that are left at it, and the types that it, or
  // an earlier job, has tried. Then the rest of the job is planned, and no type is probed twice.
  // New machines start while the present ones train, so their start counts by what is paid for
  // twice alone.
  struct Running {
    double batch = 0.0;
    double iterations = 0.0;             // the median
    double log_iterations_spread = 0.0;  // standard deviation of their logarithm, at any batch
    std::vector<RunningBatch> others = {};
    std::set<std::string> tried;
    std::string present = {};     // the type of its machines, whose least bill is under way
    double workers = 0.0;         // on machines of that type
    double price_per_hour = 0.0;  // of all of these
  };
  std::optional<Running> running;
  double start_seconds = 90.0;  // until a VM computes: the median of Compute Engine is 67 to 92 s
  // For which a job stands still for each machine that is lost: as its worker goes, and as another
  // one comes. docs/results/machines.md has what was measured.
  double standstill_seconds = 0.2;
  double probe_seconds = 60.0;  // three shares, 20 iterations each
  perfmodel::SpeedVariance variance;
  // Of types of the catalogue that are not to choose from. If the job ran on one of them, they tell
  // how the others compare with it.
  std::vector<perfmodel::MachineFeatures> other_types = {};
};
inline constexpr double kProbeShare = 0.03;
// Samples with which a VM that is probed in a running job begins, the smallest of its shares.
inline double first_probe_share(double batch, double workers) {
  return std::max(1.0, std::floor(batch / (4.0 * (workers + 1.0))));
}

// What a prediction rests on.
enum class VmEvidence {
  kCatalogue,   // the job never ran on this type
  kCalibrated,  // nor did it, but the type's rate was measured with another job
  kProfiled,    // it ran on this type at other counts or batch sizes
  kMeasured,    // at this very configuration
};
const char* name_of(VmEvidence evidence);

// VMs of one type, a worker on each.
struct VmGroup {
  std::string type;
  std::size_t type_index = 0;  // into the model's types
  double vms = 1.0;
  bool spot = false;
  double share = 0.0;           // b, samples of each worker
  double price_per_hour = 0.0;  // of each
};

// For spot machines under a limit of time.
struct DeadlineGuard {
  // So many seconds may pass without any progress before the job has to go on with on-demand
  // machines, if it is to keep the limit with 90 %. Negative: not even from the beginning.
  double slack_seconds = 0.0;
  double on_demand_cost = 0.0;  // 90 % quantile of the whole job on them
};

struct VmRow {
  std::vector<VmGroup> groups;     // one, or two in a mix
  double batch = 1.0;              // B
  double price_per_hour = 0.0;     // of all VMs
  double iteration_seconds = 0.0;  // median, with what VMs of one type are expected to differ by
  perfmodel::Outcome outcome;
  VmEvidence evidence = VmEvidence::kCatalogue;  // the weaker one in a mix
  double log_variance = 0.0;  // of an iteration's seconds, by what the model does not know
  std::optional<DeadlineGuard> guard;

  const VmGroup& base() const { return groups.front(); }
  bool is_mix() const { return groups.size() > 1; }
  double vms() const;
  double spot_share() const;  // of the VMs
};

// Of knowing a rival of the best better, as a share of what the best takes: ln(rival / best) is
// thought to be `log_rival`, and what will be known of it departs by `spread` (standard deviation).
double expected_gain(double log_rival, double spread);

// What would settle the choice: one VM of a type for three local batch sizes.
struct VmProbe {
  std::size_t row = 0;   // the plan that it could make the choice
  double dollars = 0.0;  // of the probe, with what it slows a running job down
  double gain = 0.0;     // expected, as a share of the choice's time or cost
};

struct PrunedType {
  std::string type;
  std::string why;
};

struct VmPlan {
  // Of each type (and spot) the best, and the best mix if it is better beyond its error; the
  // choice's policy orders them.
  std::vector<VmRow> rows;
  std::optional<std::size_t> choice;
  // The best of other types that keep the limits, in the order in which to try them if there is no
  // machine for the choice; the first is the runner-up.
  std::vector<std::size_t> fallbacks;
  std::optional<VmProbe> probe;  // nothing: no probe is expected to repay itself
  std::vector<PrunedType> pruned;
  // If nothing keeps the limits: those that stand in the way, and the row that keeps them
  // likeliest.
  std::vector<std::string> binding;
  std::optional<std::size_t> nearest;
  double confidence = 0.9;
  perfmodel::OutcomeLimits limits;
  Policy policy = Policy::kMinimumCost;
  perfmodel::PlanBasis basis = perfmodel::PlanBasis::kJob;
  double reference_batch = 0.0;
  std::string form;  // of the seconds per iteration
  std::vector<std::string> notes;
};

// Throws DataError if nothing was measured of the job, InputError if no type is left.
VmPlan make_vm_plan(const KnownModel& model, const std::vector<VmType>& types,
                    const VmQuestion& question);

// The policy's figure of a row: smaller is better.
double policy_figure(const VmRow& row, Policy policy);

// "4 x n2d-standard-8 + 2 x c3-highcpu-4 (spot), B = 256"
std::string name_text(const VmRow& row);

// A table for people; one JSON document with a final newline; a page of its own.
std::string vm_plan_text(const VmPlan& plan, const std::string& title);
std::string vm_plan_json(const VmPlan& plan, const std::string& title);
std::string vm_plan_page(const VmPlan& plan, const std::string& title);

}  // namespace scavenger::elastic
