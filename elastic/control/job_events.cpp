#include "elastic/control/job_events.h"

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace scavenger::elastic {

std::string ProcessName::text() const {
  return fmt::format("{} {}", name_of(role), index);
}

std::string names_of(const std::vector<ProcessName>& processes) {
  std::vector<std::string> names;
  for (const ProcessName& process : processes) names.push_back(process.text());
  return join_words(names);
}

}  // namespace scavenger::elastic
