// The port for the source of a job's machines, implemented for this machine, emulated clusters,
// ssh, Slurm and Compute Engine. One machine takes one worker; shards run on the controller's
// machine.
//
// Contract (test/provider/conformance.h checks it for each implementation):
// - All calls and all callbacks happen on the io_context's thread. No call blocks for more than a
//   few milliseconds, and none calls back before it has returned.
// - After request(id), exactly one of on_ready, on_refused and on_released comes first. After
//   on_ready, exactly one of on_lost and on_released ends it. Nothing is said of an id after
//   on_refused, on_lost or on_released: by then the machine is gone and charges nothing any more,
//   or is on its way there by itself, and the provider sees to the rest.
// - A machine that is ready is one of the catalogue's: it has the type of an entry, its zone where
//   the entry names one, and its price.
// - on_delayed (before on_ready) and on_notice (after it) may come any number of times, also never.
// - release() may be called at any time, any number of times, for any id: it cancels a request that
//   is not answered yet, and ends a machine, however it is. on_released follows once, unless the id
//   had ended already.
// - A provider whose machines outlive this process writes down what it intends before it does it,
//   in the state folder that it was made with, so that begin() of the next process, and clean(),
//   find everything, wherever this process was killed.
// - The destructor ends at once, without callbacks, whatever it can end without waiting; what was
//   not released before is for the next begin() or clean().
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

  // What this provider has to offer, by its configuration; what is free now is not in it. It does
  // not change, and may be asked for at any time.
  virtual const MachineCatalogue& catalogue() const = 0;
  // What a machine would cost; nothing if that is not known. Empty type: the configured one.
  std::optional<MachinePrice> price(const std::string& type, bool spot) const {
    return price_of(catalogue(), type, spot);
  }

  // Call once, before anything else but the two above, and wait for `done`. Checks what can be
  // checked (programs, credentials, root), takes over what an earlier process of this job has left
  // or removes it. `problem`: why this provider cannot be used. The listener must outlive the
  // provider.
  using BeginDone = std::function<void(std::optional<Refusal> problem)>;
  virtual void begin(ProviderListener& listener, BeginDone done) = 0;

  // Returns the address at which the machines reach this one, if the provider knows or decides it;
  // empty: cluster.listen_address. Requires that begin() is done.
  virtual std::string controller_address() const { return {}; }

  // Requests a machine. The provider may use one that it took over.
  virtual void request(MachineId id, const MachineRequest& request) = 0;

  virtual void release(MachineId id) = 0;

  // Releases everything, including machines that were taken over but not requested. on_released
  // comes for each id. Then `done` comes when nothing is charged any more, or when the provider has
  // given up waiting; `left` names what still exists then.
  using EndDone = std::function<void(std::vector<std::string> left)>;
  virtual void end(EndDone done) = 0;
};

}  // namespace scavenger
