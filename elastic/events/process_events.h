// The facts of workers and shards as processes: their lives, and how the job goes on without them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/vocabulary/role.h"

namespace scavenger::elastic::fact {

struct ProcessStarted {
  static constexpr std::string_view kName = "process_started";

  Role role = Role::kWorker;
  std::uint32_t index = 0;  // which worker or shard, for its whole life
  std::int64_t pid = 0;
  std::string log;  // path within the run folder

  bool operator==(const ProcessStarted&) const = default;
};

struct ProcessJoined {
  static constexpr std::string_view kName = "process_joined";

  Role role = Role::kWorker;
  std::uint32_t index = 0;
  std::int64_t pid = 0;
  double start_seconds = 0.0;  // from being started to being ready to work

  bool operator==(const ProcessJoined&) const = default;
};

// A process is gone that should not be. An orderly end is not an event.
struct ProcessLost {
  static constexpr std::string_view kName = "process_lost";

  Role role = Role::kWorker;
  std::uint32_t index = 0;
  std::int64_t pid = 0;
  std::string how;       // "killed by signal 9"
  std::string log_tail;  // the last lines of its log

  bool operator==(const ProcessLost&) const = default;
};

// An exception in the user's own code, which ends the job.
struct UserError {
  static constexpr std::string_view kName = "user_error";

  std::uint32_t worker = 0;  // its index
  std::string what;          // the function, the worker and its samples
  std::string traceback;     // as the user's language prints it

  bool operator==(const UserError&) const = default;
};

// The job goes on after losses, or with a worker that has come.
struct Recovery {
  static constexpr std::string_view kName = "recovery";

  std::uint32_t membership_epoch = 0;  // of the membership with which it goes on
  std::vector<std::string> lost;       // "worker 1"; empty: nobody was
  std::uint64_t iteration = 0;         // from which it went on
  std::uint64_t iterations_lost = 0;   // done before, and lost with the state of a shard
  double seconds = 0.0;                // from the news of the first loss to the next iteration done

  bool operator==(const Recovery&) const = default;
};

}  // namespace scavenger::elastic::fact
