// scavenger-plan vms: which machine type, how many, and which batch size, under limits that are to
// hold with a stated probability. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "elastic/planning/plan_sources.h"
#include "elastic/planning/vm_types.h"
#include "perfmodel/machines/machine_model.h"
#include "perfmodel/machines/outcome.h"
#include "perfmodel/plan/plan_basis.h"
#include "perfmodel/plan/policy.h"

namespace scavenger::elastic {

struct VmQuestion {
  Policy policy = Policy::kMinimumCost;
  perfmodel::OutcomeLimits limits;
  double confidence = 0.9;             // with which both limits have to hold
  bool spot = false;                   // spot machines count, too
  double spot_losses_per_hour = 0.05;  // of each VM
  double most_vms = 16.0;
  perfmodel::Sharing sharing = perfmodel::Sharing::kDynamic;
  std::optional<double> samples_per_epoch;  // else as recorded
  perfmodel::SpeedVariance variance;
};

// What a prediction rests on.
enum class VmEvidence {
  kCatalogue,  // the job never ran on this type
  kProfiled,   // it ran on this type at other counts or batch sizes
  kMeasured,   // at this very configuration
};
const char* name_of(VmEvidence evidence);

struct VmRow {
  std::string type;
  std::size_t type_index = 0;  // into the model's types
  double vms = 1.0;
  double batch = 1.0;  // B
  bool spot = false;
  double price_per_hour = 0.0;     // of all VMs
  double iteration_seconds = 0.0;  // median
  perfmodel::Outcome outcome;
  VmEvidence evidence = VmEvidence::kCatalogue;
  double log_variance = 0.0;  // of an iteration's seconds, by what the model does not know
};

// What would settle the choice: one VM of a type for three local batch sizes.
struct VmProbe {
  std::size_t row = 0;   // the plan that it could make the choice
  double dollars = 0.0;  // of the probe
  double gain = 0.0;     // expected, as a share of the choice's time or cost
};

struct VmPlan {
  std::vector<VmRow> rows;  // of each type (and spot) the best; the choice's policy orders them
  std::optional<std::size_t> choice;
  std::optional<std::size_t> runner_up;  // the best of another type that keeps the limits
  std::optional<VmProbe> probe;          // nothing: no probe is expected to repay itself
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

// A table for people, and one JSON document with a final newline.
std::string vm_plan_text(const VmPlan& plan, const std::string& title);
std::string vm_plan_json(const VmPlan& plan, const std::string& title);

}  // namespace scavenger::elastic
