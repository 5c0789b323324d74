// What a plan's times and costs are of: the whole job, or a share of it where nobody knows how long
// the whole job is.
#pragma once

#include <string>

namespace scavenger::perfmodel {

enum class PlanBasis {
  kJob,             // to the target: seconds and dollars
  kReferenceEpoch,  // for each epoch that the job takes at the reference batch: noise is known only
  kEpoch,           // for one epoch: neither epochs nor noise are known
  kFirstRow,        // as shares of the first candidate's: the mean of several jobs
};

// "job", "reference_epoch", "epoch", "first_row".
const char* name_of(PlanBasis basis);

// "seconds for each epoch that the job takes at B = 500", with `of_what` in the place of seconds.
std::string unit_text(PlanBasis basis, const std::string& of_what, double reference_batch);

}  // namespace scavenger::perfmodel
