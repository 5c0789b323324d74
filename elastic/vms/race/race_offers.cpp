#include "elastic/vms/race/race_offers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace scavenger::elastic {
namespace {

constexpr double kStockMemory = 600.0;  // seconds for which a refusal counts

bool is_out_of_stock(const RaceView& view, const std::string& type) {
  std::size_t refusals = 0;  // since a machine of it came
  for (const auto& [time, machine] : view.numbers().machines.latest) {
    if (machine.machine_type != type || time < view.numbers().seconds - kStockMemory) continue;
    if (machine.change == fact::MachineChange::kReady) refusals = 0;
    if (machine.change == fact::MachineChange::kRefused) ++refusals;
  }
  return refusals >= view.setting().zones_of(type);
}

}  // namespace

std::vector<VmType> offered_types(const RaceView& view) {
  std::vector<VmType> types = types_at_price(view.setting(), view.asks_for_spot());
  for (const auto& timed : view.numbers().machines.latest) {
    const fact::Machine& machine = timed.fact;
    if (machine.change != fact::MachineChange::kReady || machine.spot != view.asks_for_spot() ||
        !(machine.price_per_hour > 0.0))
      continue;
    for (VmType& type : types)
      if (type.features.name == machine.machine_type) type.price = machine.price_per_hour;
  }
  for (VmType& type : types) {
    if (!is_out_of_stock(view, type.features.name)) continue;
    const auto present = std::ranges::count_if(
        view.membership().indices,
        [&](std::uint32_t worker) { return view.is_of(worker, type.features.name); });
    type.max_count = static_cast<double>(present);
  }
  std::erase_if(types, [&](const VmType& type) {
    return type.max_count && *type.max_count < 1.0 &&
           type.features.name != view.incumbent().machine_type;
  });
  return types;
}

}  // namespace scavenger::elastic
