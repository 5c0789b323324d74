// The advisors of a job, in the order in which they are asked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "elastic/coordinator/advice/rate_advisor.h"
#include "elastic/coordinator/job/job_start.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

struct Advisors {
  std::vector<std::unique_ptr<Advisor>> all;
  const RateAdvisor* rate = nullptr;  // one of them
  std::string problem;                // why the search does without stored models
};

// The rule of the learning rate, and what the configuration asks for: dynamic batches, a search for
// K and B, or for the machine type. A search knows the models that earlier jobs have stored: those
// that a new job finds in the store are kept in its run folder.
Advisors make_advisors(const JobStart& start, const MachineCatalogue& catalogue);

}  // namespace scavenger::elastic
