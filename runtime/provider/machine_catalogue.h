// What machines a provider has to offer, as the configuration and its price list tell before
// anything is asked for. Plain data; what elastic policies need to know of machines follows from it
// (elastic/batching/machine_power.h, elastic/search/machine_pool.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/provider/machine.h"

namespace scavenger {

// Machines that are alike, in one place.
struct CatalogueEntry {
  std::string type;            // as in Machine::type; empty: machines are not told apart by a type
  std::string zone = {};       // as in Machine::zone; empty: not known before, or only one place
  double cores = 0.0;          // that one worker computes with, also parts of one; 0: not known
  double memory_gib = 0.0;     // 0: not known
  double gpus = 0.0;           // of one worker
  double link_megabits = 0.0;  // per second, in each direction; 0: not known, or not limited
  std::optional<MachinePrice> on_demand = {};  // nothing: not sold so, or not known
  std::optional<MachinePrice> spot = {};
  std::optional<std::uint32_t> count = {};  // workers that these have room for; nothing: not known

  bool operator==(const CatalogueEntry&) const = default;
};

struct MachineCatalogue {
  // Which machine a request gets that names no type.
  enum class Order {
    kAsListed,       // the first that is free
    kCheapestFirst,  // of those that are to be had
  };

  std::vector<CatalogueEntry> entries;
  Order order = Order::kAsListed;

  bool operator==(const MachineCatalogue&) const = default;
};

// What the next machine would cost if all were free; nothing if that is not known. An empty type
// stands for what a request without a type gets. Machines that are never spot cost the same.
std::optional<MachinePrice> price_of(const MachineCatalogue& catalogue, const std::string& type,
                                     bool spot);

// How many workers the machines have room for together; nothing if one of the counts is not known.
std::optional<std::uint32_t> count_of(const MachineCatalogue& catalogue);

}  // namespace scavenger
