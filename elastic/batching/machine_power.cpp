#include "elastic/batching/machine_power.h"

#include <cstddef>
#include <limits>
#include <vector>

namespace scavenger::elastic {

std::map<std::string, double> machine_powers(const MachineCatalogue& catalogue,
                                             std::uint32_t threads_per_worker) {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  const double most = threads_per_worker > 0 ? static_cast<double>(threads_per_worker) : kAll;
  const std::vector<double> speeds = expected_speeds(catalogue, most);
  std::map<std::string, double> powers;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    if (catalogue.entries[i].type.empty()) return {};
    powers[catalogue.entries[i].type] = speeds[i];
  }
  return powers;
}

}  // namespace scavenger::elastic
