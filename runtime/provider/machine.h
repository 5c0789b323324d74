// What is asked of a provider, and what it answers: machines for workers. Plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace scavenger {

// Given by whoever asks; of one process of scavenger-train. No two requests have the same.
using MachineId = std::uint64_t;

// How a machine is charged.
struct MachinePrice {
  double per_hour = 0.0;            // dollars, by the second
  double on_demand_per_hour = 0.0;  // of the same machine if it were not spot; 0: not known
  double minimum_seconds = 0.0;     // that are charged in any case, once it is ready
  double returning_seconds = 0.0;   // that it may still be charged for once it is given back
  std::string source;               // what it is based on: "catalog of 2026-07-30"; may be empty

  bool operator==(const MachinePrice&) const = default;
};

struct MachineRequest {
  std::uint32_t worker = 0;  // the index of the worker that is to run there
  std::string type;          // in the provider's words; empty: the configured one
  bool spot = false;  // it may be taken away, and costs less; what has no spot machines ignores it
  // For providers whose machines start their worker by themselves: what it reads at its start, as
  // of encode(LaunchTicket). It holds the job's secret: never on a command line, in a log, or where
  // other users can read it.
  std::string ticket;
};

// A machine that is there, and takes one worker.
struct Machine {
  std::string name;  // the provider's, for people: "vm2", "mlp-3f2a-w2-c41d"
  std::string type;
  std::string zone;  // where it is; empty where there is only one place
  bool spot = false;
  std::uint32_t cores = 0;  // for one worker; 0: those of this machine
  MachinePrice price;
  // For how long it has been charged already.
  double charged_seconds = 0.0;

  std::string address;  // numeric, at which the other machines of the job reach it
  // The words that go before a command that is to run there. They pass on standard input up to its
  // end, and end when the command ends; what is killed with them is killed there. None: the command
  // runs on this machine.
  std::vector<std::string> launch;
  std::filesystem::path program_folder;  // of scavenger-worker there; empty: as here
  // It starts the worker of its request by itself, with the request's ticket. Then `launch` is of
  // no use, the worker comes when it comes, and it is ended by releasing the machine.
  bool starts_worker = false;
};

// Why there is no machine.
enum class RefusalKind {
  kCapacity,     // the provider has none left of this type, here and now
  kQuota,        // the user may not have more; another try only helps when a limit is raised
  kRate,         // too many requests
  kUnreachable,  // no answer, or none that can be understood; nothing was left behind
  kInvalid,      // this can never be had: an unknown type, a network that is not there
  kPermission,   // the user's credentials do not allow it
  kBroken,       // it came, and is of no use: no programs there, another build, no way in
};
std::string name_of(RefusalKind kind);  // "capacity", ...

struct Refusal {
  RefusalKind kind = RefusalKind::kUnreachable;
  Problem problem;  // what, where ("zone us-central1-a", "host vm3"), and what the user can do
  // When the same request may succeed; nothing: never without the user.
  std::optional<double> retry_after_seconds;
  // Where it was asked for, in the provider's words; empty where there is only one place.
  std::string zone = {};
  std::string machine_type = {};
};

// A machine is gone, and was not released.
struct MachineLoss {
  std::string how;  // "was preempted", "does not answer any more"
  // By whom it belongs to, so that its worker is not to blame. Not so: it ended by itself, as it
  // does where it cannot start its worker.
  bool was_taken = true;
  std::string last_words = {};  // the end of its console, where there is one
};

// A machine is about to be taken away.
struct MachineNotice {
  double seconds = 0.0;  // that remain; 0: not known
  std::string reason;    // "preempted"
};

}  // namespace scavenger
