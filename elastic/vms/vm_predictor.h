// Time and cost of a job on VMs of one or two types, as distributions. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "elastic/vms/known_types.h"
#include "elastic/vms/vm_plan.h"
#include "perfmodel/epochs/statistical_model.h"
#include "perfmodel/survival/survival.h"

namespace scavenger::elastic {

// Part of a cluster that is asked about.
struct VmPart {
  const VmType* type = nullptr;
  bool spot = false;
  double vms = 1.0;
};

class VmPredictor final {
 public:
  // All references must outlive it. Throws DataError if nothing was measured, or the number of
  // samples of an epoch is not known.
  VmPredictor(const KnownModel& known, const std::vector<VmType>& catalogue,
              const VmQuestion& question);

  // One part, or two. Nothing if there are more VMs than samples, a share does not fit in a type's
  // memory, or the number of epochs at this batch size is not known.
  std::optional<VmRow> row(std::span<const VmPart> parts, double batch) const;

  // Of one VM of this type, on demand or spot as its row says, until it was probed. All workers of
  // a running job wait for one that synchronises more slowly, as is expected of it.
  double probe_dollars(const VmGroup& group) const;

  const perfmodel::MachineModel& model() const { return model_; }
  const std::set<double>& batches() const { return batches_; }  // to choose from
  perfmodel::PlanBasis basis() const { return basis_; }
  double reference_batch() const { return reference_batch_; }
  // Those of the question, unless the length of the job is not known.
  const perfmodel::OutcomeLimits& limits() const { return limits_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void learn_epochs();
  bool fill_epochs(double batch, perfmodel::JobOutlook& outlook) const;
  bool balance(std::span<const VmPart> parts, double batch, std::vector<VmGroup>& groups) const;
  perfmodel::SpotRisk risk_of(std::span<const VmPart> parts, double seconds) const;
  double losses_per_hour(const VmType& type) const;
  std::function<double(double)> losses_by_age(const VmType& type, double seconds) const;
  double least_bill(std::span<const VmPart> parts) const;
  VmEvidence evidence_of(const perfmodel::MachineUse& use) const;
  DeadlineGuard guard_of(std::span<const VmPart> parts, double batch) const;

  const KnownModel& known_;
  const VmQuestion& question_;
  double samples_;
  KnownTypes types_;
  perfmodel::MachineModel model_;
  std::optional<perfmodel::StatisticalModel> epochs_;
  perfmodel::PlanBasis basis_ = perfmodel::PlanBasis::kJob;
  double reference_batch_ = 0.0;
  perfmodel::OutcomeLimits limits_;
  std::set<std::size_t> calibrated_;  // types of the model
  std::set<double> batches_;
  std::vector<std::string> notes_;
  perfmodel::OutcomeDraws draws_;
  // Of types of which enough spot machines were seen, by name.
  std::map<std::string, std::shared_ptr<const perfmodel::Survival>> survivals_;
};

}  // namespace scavenger::elastic
