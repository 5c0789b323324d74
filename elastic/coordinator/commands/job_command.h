// What people may ask of a running job, as one line of JSON: docs/control.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace scavenger::elastic {

namespace command {

struct Status {};
struct Resize {  // what is not named stays as it is
  std::optional<std::uint32_t> workers;
  std::optional<std::uint32_t> batch_size;
};
struct Checkpoint {};
struct Pause {
  bool pauses = true;
};
struct Stop {};

}  // namespace command

using JobCommand = std::variant<command::Status, command::Resize, command::Checkpoint,
                                command::Pause, command::Stop>;

// Throws InputError if the line is none.
JobCommand parse_job_command(std::string_view line);

}  // namespace scavenger::elastic
