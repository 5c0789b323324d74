// Emulates a cluster on one machine. Each emulated machine is a network namespace with a
// rate-limited link and a share of the processors; it has a price and a start time, and may be
// preempted. Its processes and sockets are real. Requires root.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/random.h"
#include "runtime/provider/emulated/emulated_network.h"
#include "runtime/provider/emulated/emulated_settings.h"
#include "runtime/provider/lessor.h"
#include "runtime/provider/provider_factory.h"

namespace scavenger {

// Decides when machines are preempted. Pure: the same seed gives the same lifetimes.
class PreemptionPlan final {
 public:
  explicit PreemptionPlan(PreemptionSettings settings) : settings_(std::move(settings)) {}

  struct Fate {
    double life_seconds = 0.0;
    double notice_seconds = 0.0;
  };
  // Returns the fate of the next machine, which runs `worker`; none if it is not preempted.
  std::optional<Fate> next(std::uint32_t worker, bool spot);

 private:
  PreemptionSettings settings_;
  std::uint64_t machines_ = 0;
};

// Returns how fast the machine is, beside one that is as its type says, before which so many were
// obtained. Pure: the same seed gives the same speeds.
double emulated_speed(const MachineSpeeds& speeds, std::uint64_t machine);

MachineCatalogue emulated_catalogue(const EmulatedSettings& settings);

class EmulatedProvider final : public Lessor {
 public:
  // `clock` must outlive the provider.
  EmulatedProvider(asio::io_context& io, const Clock& clock, EmulatedSettings settings);
  // Removes all parts of the emulated cluster.
  ~EmulatedProvider() override;

  std::string name() const override { return "emulated"; }
  std::string controller_address() const override { return names_.controller_address(); }
  const MachineCatalogue& catalogue() const override { return catalogue_; }

 private:
  struct Place {
    std::uint32_t slot = 0;
    const EmulatedMachineType* type = nullptr;
  };

  awaitable<void> open() override;
  awaitable<Machine> obtain(MachineId id, const MachineRequest& request) override;
  awaitable<void> give_back(MachineId id) override;
  awaitable<std::vector<std::string>> close() override;
  const EmulatedMachineType* find_type(const std::string& name) const;
  const EmulatedMachineType* free_type(const std::string& name) const;
  Place take_place(MachineId id, const MachineRequest& request);
  awaitable<void> end_later(MachineId id, PreemptionPlan::Fate fate);

  const Clock& clock_;
  const EmulatedSettings settings_;
  const MachineCatalogue catalogue_;
  EmulatedNames names_;
  PreemptionPlan plan_;
  std::map<MachineId, Place> places_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t obtained_ = 0;  // machines
};

const ProviderFactory& emulated_provider_factory();

}  // namespace scavenger
