// The state of a simulation in a file: everything that its future and its averages depend on.
//
// Layout (little endian): "SCAVMD01", the length and the text of the identity, the step, positions,
// velocities, the sums of the averages, each array with its length before it; at the end the
// SHA-256 of all that precedes. It is renamed into place, and the one before is kept as
// `state.before`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "md/averages.h"
#include "md/system.h"

namespace scavenger::md {

struct State {
  std::string identity;
  Phase phase;
  Averages averages;
};

std::string encode_state(const State& state);
// Throws CheckpointError if the bytes are not a whole state.
State decode_state(std::string_view bytes, const std::string& where);

// Writes `folder`/state.bin. Throws SystemError.
void write_state(const State& state, const std::filesystem::path& folder);

// Reads state.bin of `folder`, or state.before if it is damaged. Returns nothing if there is
// neither. Throws CheckpointError if all that are there are damaged.
std::optional<State> read_state(const std::filesystem::path& folder);

}  // namespace scavenger::md
