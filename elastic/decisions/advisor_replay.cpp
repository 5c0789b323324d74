#include "elastic/decisions/advisor_replay.h"

#include <fmt/format.h>

#include <variant>

#include "elastic/events/event_log.h"

namespace scavenger::elastic {
namespace {

std::string line_of(const RunEvent& event) {
  return to_json_line({0.0, event});
}

}  // namespace

std::optional<std::string> AdvisorReplay::compare(const RunEvent& recorded) {
  if (expected_.empty())
    return advisor_.may_come_from_outside(recorded)
               ? std::nullopt
               : std::optional("nothing is to be decided, and the log has " + line_of(recorded));
  const std::string wanted = line_of(expected_.front()), found = line_of(recorded);
  expected_.pop_front();
  ++decisions_;
  if (wanted == found) return std::nullopt;
  return fmt::format("decided {}, and the log has {}", wanted, found);
}

std::optional<std::string> AdvisorReplay::add(const LoggedEvent& logged) {
  // That the noise has settled is logged between iterations and what is decided on them.
  const bool waits = std::holds_alternative<fact::NoiseStable>(logged.event);
  if (measured_ && !waits) {
    measured_ = false;
    if (decide_)
      for (RunEvent& event : decide_(summary_.numbers())) expected_.push_back(std::move(event));
  }
  std::optional<std::string> difference;
  if (advisor_.is_decision(logged.event)) {
    difference = compare(logged.event);
  } else if (!expected_.empty() && std::holds_alternative<fact::Start>(logged.event)) {
    expected_.clear();  // a kill came between the decision and its record: it is made again
  } else if (!expected_.empty() && !waits) {
    difference = "the log lacks " + line_of(expected_.front());
    expected_.clear();
  }
  if (const auto* start = std::get_if<fact::Start>(&logged.event))
    decide_ = advisor_.decide_of(*start);
  summary_.apply(logged);
  measured_ |= advisor_.is_occasion(logged.event);
  return difference;
}

}  // namespace scavenger::elastic
