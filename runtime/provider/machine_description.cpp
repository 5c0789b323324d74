#include "runtime/provider/machine_description.h"

#include <utility>

namespace scavenger {
namespace {

template <typename Object, typename Value>
void read(const Object& object, const char* key, Value& value) {
  if (const auto found = object.find(key); found != object.end())
    value = found->template get<Value>();
}

template <typename Object>
MachineDescription described_by(const Object& object, MachineDescription otherwise) {
  MachineDescription machine = std::move(otherwise);
  read(object, "type", machine.type);
  read(object, "cores", machine.cores);
  read(object, "memory_gib", machine.memory_gib);
  read(object, "gpus", machine.gpus);
  read(object, "gpu_type", machine.gpu_type);
  read(object, "price_per_hour", machine.price_per_hour);
  read(object, "count", machine.count);
  return machine;
}

}  // namespace

MachineDescription machine_description(const Json& object, MachineDescription otherwise) {
  return described_by(object, std::move(otherwise));
}

MachineDescription machine_description(const nlohmann::json& object) {
  return described_by(object, {});
}

MachinePrice price_of(const MachineDescription& machine, bool spot) {
  MachinePrice price;
  price.per_hour = machine.price_per_hour;
  if (!machine.spot_price_per_hour) return price;
  price.on_demand_per_hour = machine.price_per_hour;
  if (spot) price.per_hour = *machine.spot_price_per_hour;
  return price;
}

CatalogueEntry catalogue_entry(const MachineDescription& machine) {
  CatalogueEntry entry{.type = machine.type,
                       .cores = machine.cores,
                       .memory_gib = machine.memory_gib,
                       .gpus = static_cast<double>(machine.gpus),
                       .gpu_type = machine.gpu_type,
                       .on_demand = price_of(machine, false)};
  if (machine.spot_price_per_hour) entry.spot = price_of(machine, true);
  if (machine.count > 0) entry.count = machine.count;
  return entry;
}

}  // namespace scavenger
