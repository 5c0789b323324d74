// Machines that start their process by themselves start scavenger-worker. A ticket with this
// configuration makes it become scavenger-task.
#pragma once

namespace scavenger {

inline constexpr const char* kTaskTicketConfig = R"({"program":"scavenger-task"})";

}  // namespace scavenger
