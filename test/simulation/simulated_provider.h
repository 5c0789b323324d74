// Machines on a virtual clock: they come late, are refused, and are taken away with and without
// notice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "runtime/base/random.h"
#include "runtime/provider/provider.h"
#include "test/simulation/virtual_loop.h"

namespace scavenger::elastic {

struct Market {
  double price_per_hour = 0.1;
  double mean_life_seconds = 0.0;  // of a machine, exponential; 0: it lives for ever
  double notice_share = 0.5;       // of losses: the others come without
  double notice_seconds = 30.0;
  double refusal_share = 0.1;  // of requests
  double shortest_start_seconds = 20.0;
  double longest_start_seconds = 60.0;
};

class SimulatedProvider final : public Provider {
 public:
  SimulatedProvider(VirtualLoop& loop, Market market, std::uint64_t seed);

  std::string name() const override { return "simulated"; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }
  void begin(ProviderListener& listener, BeginDone done) override;
  void request(MachineId id, const MachineRequest& request) override;
  void release(MachineId id) override;
  void end(EndDone done) override;

  // Called at the moment when a machine is taken, before it is known: with its address.
  std::function<void(const std::string& address)> on_taken = [](const std::string&) {};

  std::size_t machines_left() const { return leases_.size(); }
  std::uint32_t machines() const { return machines_; }  // that came, in all
  std::uint32_t notices() const { return notices_; }

 private:
  struct Lease {
    bool is_ready = false;
    bool is_released = false;
    bool is_taken = false;
  };

  void bring(MachineId id);
  void take(MachineId id);
  void finish(MachineId id);
  bool is_wanted(MachineId id) const;

  VirtualLoop& loop_;
  const Market market_;
  const MachineCatalogue catalogue_;
  RandomStream random_;
  ProviderListener* listener_ = nullptr;
  std::map<MachineId, Lease> leases_;
  EndDone ended_;
  std::uint32_t machines_ = 0;
  std::uint32_t notices_ = 0;
};

}  // namespace scavenger::elastic
