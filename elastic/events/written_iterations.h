// The quick way to read what nearly all of a log is made of.
#pragma once

#include <optional>
#include <string_view>

#include "elastic/events/event.h"

namespace scavenger::elastic {

// An `iterations` event that is written exactly as to_json_line() writes it: its fields in their
// order and no spaces. Nothing for any other line, also a damaged one: from_json_line() reads those
// its slow way, and says what is wrong with them. Does not check that lists have matching lengths.
std::optional<LoggedEvent> read_written_iterations(std::string_view line);

}  // namespace scavenger::elastic
