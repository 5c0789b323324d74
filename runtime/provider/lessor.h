// What the providers have in common that get their machines step by step, one coroutine for each:
// the life of a machine between request and release.
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

// Thrown by obtain().
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
  void end(EndDone done) final;

 protected:
  // ---- What a provider is. Everything may throw Error; errors that say no more count as passing.
  // Whether it can be used here. Throws MachineRefused.
  virtual awaitable<void> open() = 0;
  // A machine for this request. Throws MachineRefused. It should end soon where is_wanted() does.
  virtual awaitable<Machine> obtain(MachineId id, const MachineRequest& request) = 0;
  // Ends what obtain() has begun or made. Called once for each obtain(), also where that threw.
  virtual awaitable<void> give_back(MachineId id) = 0;
  // When all machines are gone: ends what was opened; what could not be ended.
  virtual awaitable<std::vector<std::string>> close() = 0;

  // ---- For its use.
  asio::io_context& io() { return io_; }
  // Not released, and not lost.
  bool is_wanted(MachineId id) const;
  // Waits, until it is not wanted any more.
  awaitable<void> pause(MachineId id, double seconds);
  // Waits, whatever becomes of the machines.
  awaitable<void> rest(double seconds);
  // News of a machine that is ready.
  void tell_notice(MachineId id, const MachineNotice& notice);
  void lose(MachineId id, MachineLoss loss);
  void tell_delayed(MachineId id, const Refusal& refusal);

 private:
  struct Lease {
    explicit Lease(asio::io_context& io) : change(io) {}
    bool is_ready = false;
    bool is_released = false;
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
