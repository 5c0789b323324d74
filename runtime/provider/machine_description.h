// How a configuration describes a machine of a worker, whatever provides it: the same keys in
// provider.machines, provider.hosts and the object of Slurm. The catalogue follows from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/provider/machine_catalogue.h"
#include "runtime/schema/json.h"

namespace scavenger {

// What one worker has of its machine, and what that costs.
struct MachineDescription {
  std::string type;         // a name for reports and plans; may be empty
  double cores = 0.0;       // 0: unknown
  double memory_gib = 0.0;  // 0: unknown
  std::uint32_t gpus = 0;
  std::string gpu_type;                            // as the cluster calls it; empty: any
  double price_per_hour = 0.0;                     // dollars
  std::optional<double> spot_price_per_hour = {};  // dollars; nothing: never spot
  std::uint32_t count = 0;                         // most workers on such machines; 0: unknown
};

// Reads the keys "type", "cores", "memory_gib", "gpus", "gpu_type", "price_per_hour" and "count" of
// a checked configuration. A key that `object` lacks is taken from `otherwise`. Spot prices have
// conditions that differ between providers, so each adds its own.
MachineDescription machine_description(const Json& object, MachineDescription otherwise = {});
MachineDescription machine_description(const nlohmann::json& object);

MachinePrice price_of(const MachineDescription& machine, bool spot);
CatalogueEntry catalogue_entry(const MachineDescription& machine);

}  // namespace scavenger
