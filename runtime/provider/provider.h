// The port for the source of a job's machines, implemented for this machine, emulated clusters,
// ssh, Slurm, Compute Engine and Kubernetes. One machine takes one worker; shards run on the
// controller's machine.
//
// Contract (test/unit/runtime/provider/conformance.h checks it for each implementation):
// - All calls and all callbacks happen on the io_context's thread. No call blocks for more than a
//   few milliseconds, and none calls back before it has returned.
// - After request(id), exactly one of on_ready, on_refused and on_released comes first. After
//   on_ready, exactly one of on_lost and on_released ends it. No callback for an id follows
//   on_refused, on_lost or on_released: the machine is then gone and no longer charged, or the
//   provider makes sure of that without further calls.
// - A machine that is ready matches an entry of the catalogue: it has the entry's type and price,
//   and its zone if the entry names one.
// - on_delayed (before on_ready) and on_notice (after it) may come any number of times, or never.
// - release() may be called at any time, any number of times, for any id. It cancels a request that
//   is not answered yet, and ends a machine in any state. on_released follows once, unless the id
//   had already ended.
// - abandon() is release() for a machine whose worker was lost. Which of on_lost and on_released
//   follows says whether the machine, as far as the provider can find out, was gone before.
// - A provider whose machines outlive this process records each step in its state folder before it
//   takes the step. begin() of the next process, and clean(), then find everything, whenever this
//   process was killed.
// - The destructor ends what it can end without waiting, at once and without callbacks. The next
//   begin() or clean() ends what was not released before.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/provider/machine.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger {

// Thread: the io_context's.
class ProviderListener {
 public:
  virtual ~ProviderListener() = default;
  // The worker may be started there, or the machine starts it by itself.
  virtual void on_ready(MachineId id, const Machine& machine) = 0;
  // The request was refused in one zone, or for now; the provider tries again or elsewhere.
  virtual void on_delayed(MachineId id, const Refusal& refusal) = 0;
  virtual void on_refused(MachineId id, const Refusal& refusal) = 0;
  virtual void on_notice(MachineId id, const MachineNotice& notice) = 0;
  virtual void on_lost(MachineId id, const MachineLoss& loss) = 0;
  virtual void on_released(MachineId id) = 0;
};

class Provider {
 public:
  virtual ~Provider() = default;

  virtual std::string name() const = 0;  // as in the configuration: "local", "gcp", ...

  // Returns the machines that this provider offers according to its configuration, whether they are
  // free or not. The catalogue does not change. May be called at any time.
  virtual const MachineCatalogue& catalogue() const = 0;
  // Returns the price of a machine; nothing if it is unknown. Empty type: the configured one.
  std::optional<MachinePrice> price(const std::string& type, bool spot) const {
    return price_of(catalogue(), type, spot);
  }

  // Checks the prerequisites (programs, credentials, root), and takes over or removes what an
  // earlier process of this job has left. `problem`: why this provider cannot be used. Call it
  // once, before anything but the two functions above, and wait for `done`. The listener must
  // outlive the provider.
  using BeginDone = std::function<void(std::optional<Refusal> problem)>;
  virtual void begin(ProviderListener& listener, BeginDone done) = 0;

  // Returns the address at which the machines reach this one, if the provider knows or decides it;
  // empty: cluster.listen_address. Requires that begin() is done.
  virtual std::string controller_address() const { return {}; }

  // Requests a machine. The provider may use one that it took over.
  virtual void request(MachineId id, const MachineRequest& request) = 0;

  virtual void release(MachineId id) = 0;

  // Releases a machine that starts its worker by itself, after that worker was lost. on_lost
  // follows if the machine was taken before, or if the worker ended by itself there; on_released if
  // nothing is known against the machine. A provider that cannot tell releases it.
  virtual void abandon(MachineId id) { release(id); }

  // The worker of this machine is about to leave, and another machine was requested in its place. A
  // provider that prepares for the end of machines by itself need not do so for this one.
  virtual void note_leaving(MachineId) {}

  // Releases everything, including machines that were taken over but not requested. on_released
  // comes for each id. Then `done` comes when nothing is charged any more, or when the provider has
  // given up waiting; `left` names what still exists then.
  using EndDone = std::function<void(std::vector<std::string> left)>;
  virtual void end(EndDone done) = 0;
};

}  // namespace scavenger
