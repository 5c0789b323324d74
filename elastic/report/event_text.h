// What people are told of single events of a run. Pure.
#pragma once

#include <string>

#include "elastic/events/event.h"
#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// How much an event matters to people who watch.
enum class Attention { kNone, kDetail, kMilestone, kProblem };
struct EventText {
  Attention attention = Attention::kNone;
  std::string text;
};
// `numbers` with the event already in them.
EventText event_text(const LoggedEvent& logged, const RunNumbers& numbers);

// "65.0 s  $0.0012"; without the cost if workers cost nothing.
std::string time_and_cost(const RunNumbers& numbers, double seconds, double cost);

}  // namespace scavenger::elastic
