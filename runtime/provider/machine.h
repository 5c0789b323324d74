// The requests to a provider and its answers: machines for workers. Plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"

namespace scavenger {

// Chosen by the caller. Unique among the requests of one scavenger-train process.
using MachineId = std::uint64_t;

// The price of a machine.
struct MachinePrice {
  double per_hour = 0.0;            // dollars, charged by the second
  double on_demand_per_hour = 0.0;  // dollars for the same machine if it is not spot; 0: unknown
  double minimum_seconds = 0.0;     // least time that is charged once the machine is ready
  double returning_seconds = 0.0;   // time that may still be charged after the release
  std::string source;               // source of the price: "catalog of 2026-07-30"; may be empty

  bool operator==(const MachinePrice&) const = default;
};

struct MachineRequest {
  std::uint32_t worker = 0;  // index of the worker that will run there
  std::string type;          // machine type, named as by the provider; empty: the configured one
  bool spot = false;         // preemptible and cheaper; ignored by providers without spot machines
  // For providers whose machines start their worker by themselves: the launch ticket that the
  // worker reads at its start (encode(LaunchTicket)). It contains the job's secret, so it must not
  // appear on a command line, in a log, or where other users can read it.
  std::string ticket;
};

// A machine that is ready, and takes one worker.
struct Machine {
  std::string name;  // the provider's name for it: "vm2", "mlp-3f2a-w2-c41d"
  std::string type;
  std::string zone;  // empty if the provider has only one zone
  bool spot = false;
  std::uint32_t cores = 0;  // cores for one worker; 0: as many as this machine has
  MachinePrice price;
  // How long it has already been charged.
  double charged_seconds = 0.0;

  std::string address;  // numeric address at which the job's other machines reach it
  // The words that precede a command to run it there. They forward standard input up to its end,
  // end when the command ends, and if they are killed, the command is killed. None: commands run on
  // this machine.
  std::vector<std::string> launch;
  std::filesystem::path program_folder;  // of scavenger-worker there; empty: same as here
  // Whether the machine starts the worker by itself, with the ticket of its request. `launch` is
  // then not used, the worker connects at any time, and releasing the machine ends it.
  bool starts_worker = false;
};

// Why a request was refused.
enum class RefusalKind {
  kCapacity,     // the provider has no machine of this type left, here and now
  kQuota,        // the user's quota is exhausted; retry only after a limit is raised
  kRate,         // too many requests
  kUnreachable,  // no answer, or an unreadable one; nothing was left behind
  kInvalid,      // it can never succeed: an unknown type, a missing network
  kPermission,   // the user's credentials do not allow it
  kBroken,       // the machine started but is unusable: missing programs, other build, no access
};
std::string name_of(RefusalKind kind);  // "capacity", ...

struct Refusal {
  RefusalKind kind = RefusalKind::kUnreachable;
  Problem problem;  // `where`: "zone us-central1-a", "host vm3"
  // When the same request may succeed; nothing: only after the user has acted.
  std::optional<double> retry_after_seconds;
  // The zone of the request, named as by the provider; empty if it has only one zone.
  std::string zone = {};
  std::string machine_type = {};
};

// A machine that is gone although it was not released.
struct MachineLoss {
  std::string how;  // "was preempted", "does not answer any more"
  // True: the provider took the machine, so its worker is not at fault. False: the machine ended by
  // itself, for instance because it could not start its worker.
  bool was_taken = true;
  std::string last_words = {};  // the end of its console output, if it has one
};

// A notice that a machine is about to be preempted.
struct MachineNotice {
  double seconds = 0.0;  // remaining time; 0: unknown
  std::string reason;    // "preempted"
};

}  // namespace scavenger
