#include "perfmodel/plan/plan_basis.h"

#include <fmt/format.h>

namespace scavenger::perfmodel {

const char* name_of(PlanBasis basis) {
  switch (basis) {
    case PlanBasis::kJob:
      break;
    case PlanBasis::kReferenceEpoch:
      return "reference_epoch";
    case PlanBasis::kEpoch:
      return "epoch";
    case PlanBasis::kFirstRow:
      return "first_row";
  }
  return "job";
}

std::string unit_text(PlanBasis basis, const std::string& of_what, double reference_batch) {
  switch (basis) {
    case PlanBasis::kJob:
      break;
    case PlanBasis::kReferenceEpoch:
      return fmt::format("{} for each epoch that the job takes at B = {:.0f}", of_what,
                         reference_batch);
    case PlanBasis::kEpoch:
      return of_what + " for one epoch";
    case PlanBasis::kFirstRow:
      return of_what + " as a multiple of the first row's";
  }
  return of_what;
}

}  // namespace scavenger::perfmodel
