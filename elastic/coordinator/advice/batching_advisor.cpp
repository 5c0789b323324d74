#include "elastic/coordinator/advice/batching_advisor.h"

#include <utility>
#include <variant>

namespace scavenger::elastic {

Advice BatchingAdvisor::begin(const JobView&) {
  Advice advice;
  advice.wishes.emplace_back(SharesWanted{batching_.rule(), {}});
  return advice;
}

Advice BatchingAdvisor::observe(const RunEvent& event, const JobView&) {
  Advice advice;
  if (auto proposal = batching_.observe(event))
    advice.wishes.emplace_back(
        SharesWanted{std::move(proposal->rule), std::move(proposal->reason)});
  // Before workers were measured their shares follow what their machines can do.
  const auto* machine = std::get_if<fact::Machine>(&event);
  if (machine != nullptr && machine->change == fact::MachineChange::kReady)
    advice.wishes.emplace_back(SharesWanted{batching_.rule(), {}});
  return advice;
}

}  // namespace scavenger::elastic
