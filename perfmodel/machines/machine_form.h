// The formula for the seconds of one iteration of a job on machines of one type.
//
//   c(b) = a + c b; with a floor (f^8 + (a + c b)^8)^(1/8)      b samples on one worker
//   C    = c(b) (1 + h log2 g)        g workers on one VM share its memory, its bus, its loader
//   S    = s (m(N) + q m(g))    N VMs; nothing to do for one VM unless the state is elsewhere
//   tau  = (C^n + S^n)^(1/n)    n = 1: one after the other; 4: synchronisation hides behind the
//                               backward pass; 2: a part of it does
//
// q m(g) is what the workers of one VM do among themselves, q times as slowly as over the network;
// a form may leave it out, or have one m(N g) for all workers instead.
//
// Parameters are logarithms: a machine's speed, a link's and a kernel's overhead are factors, and
// what is known of them before a measurement is a normal distribution of the logarithm. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace scavenger::perfmodel {

// Where one iteration runs.
struct MachineUse {
  std::size_t type = 0;      // into the types of the model
  double vms = 1.0;          // N
  double per_vm = 1.0;       // g, workers on each VM
  double local_batch = 1.0;  // b, samples of one worker
  bool is_alone = false;     // compute was measured by itself: there is no synchronisation

  double workers() const { return vms * per_vm; }
};

enum class LinkShape {
  kShard,   // m = N - 1: one server takes the workers in turn
  kSpread,  // m = 2 (N - 1) / N: a ring, or shards on all VMs
  kRounds,  // m = (1 + 0.3 log2 N) / 1.3: rounds, or contention that grows slowly with N
};
// If the state is on none of the VMs, one VM synchronises, too: m = N; 1, each by its own link; and
// 1 + 0.3 log2 N.

// What several workers on one VM add to synchronisation.
enum class HostLink {
  kNone,   // nothing: m(N)
  kAdds,   // m(N) + q m(g)
  kWhole,  // m(N g)
};

struct MachineForm {
  LinkShape shape = LinkShape::kSpread;
  double overlap = 4.0;  // n
  bool floor = false;
  bool state_is_elsewhere = false;
  HostLink host = HostLink::kNone;

  bool operator==(const MachineForm&) const = default;
};
std::string describe(const MachineForm& form);
// Every form; those with a floor, and those that differ for several workers on a VM, only if asked
// for.
std::vector<MachineForm> machine_forms(bool with_floor, bool state_is_elsewhere = false,
                                       bool with_hosts = false);

enum MachineParameter : std::size_t {
  kLogBase,       // ln a, seconds
  kLogPerSample,  // ln c, seconds
  kLogFloor,      // ln f, seconds
  kLogHost,       // ln h
  kLogSync,       // ln s, seconds
  kLogHostSync,   // ln q
  kMachineParameters,
};
using MachineParameters = std::array<double, kMachineParameters>;

struct MachineSeconds {
  double log_seconds = 0.0;
  MachineParameters gradient{};  // d ln tau / d parameter
  double sync_share = 0.0;       // of tau that compute alone would not take
};
MachineSeconds evaluate(const MachineForm& form, const MachineParameters& parameters,
                        const MachineUse& use);

}  // namespace scavenger::perfmodel
