// The base class of providers that handle each machine in one coroutine. It implements the life of
// a machine from its request to its release.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/asio.h"
#include "runtime/provider/provider.h"

namespace scavenger {

// Thrown by obtain() if there is no machine.
class MachineRefused final : public Error {
 public:
  explicit MachineRefused(Refusal refusal) : Error(refusal.problem), refusal_(std::move(refusal)) {}
  const Refusal& refusal() const { return refusal_; }

 private:
  Refusal refusal_;
};

// Thread: the io_context's.
class Lessor : public Provider {
 public:
  explicit Lessor(asio::io_context& io) : io_(io) {}

  void begin(ProviderListener& listener, BeginDone done) final;
  void request(MachineId id, const MachineRequest& request) final;
  void release(MachineId id) final;
  void abandon(MachineId id) final;
  void end(EndDone done) final;

 protected:
  // ---- For the provider to implement. All may throw Error, which counts as temporary unless it is
  // MachineRefused.

  // Checks whether the provider can be used here. Throws MachineRefused if not.
  virtual awaitable<void> open() = 0;
  // Returns a machine for this request. Throws MachineRefused. Should return soon after is_wanted()
  // becomes false.
  virtual awaitable<Machine> obtain(MachineId id, const MachineRequest& request) = 0;
  // Ends what obtain() has begun or made. Called once for each obtain(), even if that threw.
  virtual awaitable<void> give_back(MachineId id) = 0;
  // Ends what open() has opened; called when all machines are gone. Returns what could not be
  // ended.
  virtual awaitable<std::vector<std::string>> close() = 0;

  // ---- For the provider's use.
  asio::io_context& io() { return io_; }
  // Returns whether abandon() was called: give_back() should then find out what became of it.
  bool is_abandoned(MachineId id) const;
  // For give_back() of an abandoned machine: on_lost() follows in place of on_released().
  void judge(MachineId id, MachineLoss loss);
  // Returns whether the machine is neither released nor lost.
  bool is_wanted(MachineId id) const;
  // Waits; returns early if the machine is no longer wanted.
  awaitable<void> pause(MachineId id, double seconds);
  // Waits, whatever happens to the machines.
  awaitable<void> rest(double seconds);
  // Report news of a machine: tell_notice() and lose() of one that is ready, tell_delayed() of one
  // that is not ready yet. No effect in any other state.
  void tell_notice(MachineId id, const MachineNotice& notice);
  void lose(MachineId id, MachineLoss loss);
  void tell_delayed(MachineId id, const Refusal& refusal);

 private:
  struct Lease {
    explicit Lease(asio::io_context& io) : change(io) {}
    bool is_ready = false;
    bool is_released = false;
    bool is_abandoned = false;
    std::optional<MachineLoss> lost;
    asio::steady_timer change;
  };

  awaitable<void> open_for(BeginDone done);
  awaitable<void> serve(MachineId id, MachineRequest request, std::shared_ptr<Lease> lease);
  awaitable<void> close_for(EndDone done);
  void finish(MachineId id);

  asio::io_context& io_;
  ProviderListener* listener_ = nullptr;
  std::map<MachineId, std::shared_ptr<Lease>> leases_;
  EndDone ended_;
};

}  // namespace scavenger
