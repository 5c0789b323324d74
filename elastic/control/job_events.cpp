#include "elastic/control/job_events.h"

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace scavenger::elastic {

std::string name_of(Status status) {
  switch (status) {
    case Status::kTargetReached:
      return "target_reached";
    case Status::kMaxEpochs:
      return "max_epochs";
    case Status::kMaxIterations:
      return "max_iterations";
    case Status::kMaxTime:
      return "max_time";
    case Status::kMaxCost:
      return "max_cost";
    case Status::kInterrupted:
      return "interrupted";
    case Status::kFailed:
      return "failed";
    case Status::kEarlyStopping:
      return "early_stopping";
  }
  return "failed";
}

std::string ProcessName::text() const {
  return fmt::format("{} {}", scavenger::name_of(role), index);
}

std::string names_of(const std::vector<ProcessName>& processes) {
  std::vector<std::string> names;
  for (const ProcessName& process : processes) names.push_back(process.text());
  return join_words(names);
}

}  // namespace scavenger::elastic
