// The machines that a provider offers, according to its configuration and price list, before any
// request. Plain data, from which elastic policies derive the properties of machines
// (elastic/batching/machine_power.h, elastic/search/machine_pool.h).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/provider/machine.h"

namespace scavenger {

// Machines of one type in one zone.
struct CatalogueEntry {
  std::string type;           // as in Machine::type; empty: there are no types
  std::string zone = {};      // as in Machine::zone; empty: unknown before the request, or only one
  double cores = 0.0;         // for one worker, possibly a fraction; 0: unknown
  double memory_gib = 0.0;    // 0: unknown
  double gpus = 0.0;          // for one worker, which computes on one of them
  std::string gpu_type = {};  // such as "a100"; empty: unknown
  double link_megabits = 0.0;  // megabits per second in each direction; 0: unknown or unlimited
  std::optional<MachinePrice> on_demand = {};  // nothing: not offered, or unknown
  std::optional<MachinePrice> spot = {};
  std::optional<std::uint32_t> count = {};  // most workers on these machines; nothing: unknown

  bool operator==(const CatalogueEntry&) const = default;
};

struct MachineCatalogue {
  // Which machine a request without a type gets.
  enum class Order {
    kAsListed,       // the first free one
    kCheapestFirst,  // the cheapest available one
  };

  std::vector<CatalogueEntry> entries;
  Order order = Order::kAsListed;

  bool operator==(const MachineCatalogue&) const = default;
};

// Returns the price of such a machine; nothing if it is unknown. One that is never spot has the
// same price for both values of `spot`.
const std::optional<MachinePrice>& price_of(const CatalogueEntry& entry, bool spot);

// Returns the price of the next machine if all are free; nothing if it is unknown. An empty type
// means the machine that a request without a type gets. Machines that are never spot have the same
// price for both values of `spot`.
std::optional<MachinePrice> price_of(const MachineCatalogue& catalogue, const std::string& type,
                                     bool spot);

// Returns how fast a worker is on each entry before anything was measured, in one unit: its cores,
// `most_cores` at most; or 1 each if all entries have GPUs of one type. Empty if that cannot be
// said: cores or a type of GPUs are unknown, or entries differ in what they compute with.
std::vector<double> expected_speeds(const MachineCatalogue& catalogue,
                                    double most_cores = std::numeric_limits<double>::infinity());

// Returns how many workers fit on all machines; nothing if one of the counts is unknown.
std::optional<std::uint32_t> count_of(const MachineCatalogue& catalogue);

}  // namespace scavenger
