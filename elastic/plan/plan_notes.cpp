#include "elastic/plan/plan_notes.h"

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

using perfmodel::Plan;
using perfmodel::PlanBasis;

const char* const kWhatIsMissing =
    "a run that reaches its target says how many epochs the job takes";

std::string option_of(const std::string& limit) {
  return limit == "max_seconds" ? "--max-time" : "--max-cost";
}

}  // namespace

std::string time_unit_text(const Plan& plan) {
  return perfmodel::unit_text(plan.basis, "seconds", plan.reference_batch);
}

std::string cost_unit_text(const Plan& plan) {
  return perfmodel::unit_text(plan.basis, plan.price_is_assumed ? "worker-hours" : "dollars",
                              plan.reference_batch);
}

std::vector<std::string> unit_notes(const Plan& plan) {
  std::vector<std::string> notes;
  switch (plan.basis) {
    case PlanBasis::kJob:
      break;
    case PlanBasis::kReferenceEpoch:
      notes.push_back(fmt::format(
          "Nothing is known of the absolute number of epochs. Epochs are relative, 1 at "
          "B = {0:.0f}; time is in {1}; cost is in {2}.",
          plan.reference_batch, time_unit_text(plan), cost_unit_text(plan)));
      break;
    case PlanBasis::kEpoch:
      notes.emplace_back(
          "Time and cost are of one epoch, since nothing is known of epochs. A noise scale "
          "(--noise-scale, a column noise_scale, or a run of scavenger-train) would say how many "
          "more epochs a larger B needs: until then compare rows of the same B.");
      break;
    case PlanBasis::kFirstRow:
      notes.emplace_back("Epochs, times and costs are relative: multiples of the first row's.");
      break;
  }
  if (plan.price_is_assumed && plan.basis != PlanBasis::kFirstRow)
    notes.emplace_back("No price is known: a worker-hour counts as a dollar (--price names one).");
  return notes;
}

std::vector<std::string> choice_warnings(const Plan& plan) {
  std::vector<std::string> warnings;
  if (plan.fit_errors.is_bad())
    warnings.push_back(fmt::format(
        "the fit misses the configurations that it was made from by {:+.0f}% to {:+.0f}%: measure "
        "them again, for longer or on a quieter machine, before you trust this choice",
        100.0 * plan.fit_errors.lowest, 100.0 * plan.fit_errors.highest));
  if (plan.basis == PlanBasis::kEpoch)
    warnings.emplace_back(
        "without a noise scale a larger B looks better than it is, since it may need more epochs");
  if (!plan.limits_not_compared.empty()) {
    std::vector<std::string> options;
    for (const std::string& limit : plan.limits_not_compared) options.push_back(option_of(limit));
    warnings.push_back(
        fmt::format("{} took no part in the choice: the time and the cost of the whole job are not "
                    "known; {}",
                    join_words(options), kWhatIsMissing));
  }
  return warnings;
}

}  // namespace scavenger::elastic
