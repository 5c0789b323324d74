#pragma once

#include <string>

#include "elastic/vms/vm_types.h"

namespace scavenger::elastic {

// A type of the family "one" whose speed is its cores, with a spot price of a quarter of `price`
// per hour.
inline VmType type_of(const std::string& name, double cores, double price) {
  VmType type;
  type.features.name = name;
  type.features.family = "one";
  type.features.rate = cores;
  type.features.core_rate = 1.0;
  type.features.link = 10.0;
  type.price = price;
  type.spot_price = price / 4.0;
  return type;
}

}  // namespace scavenger::elastic
