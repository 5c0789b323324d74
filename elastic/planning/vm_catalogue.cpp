#include "elastic/planning/vm_catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "elastic/providers/job_provider.h"
#include "elastic/vms/spot_tables.h"
#include "elastic/vms/vm_calibration.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {

std::vector<VmType> vm_types_at(const std::filesystem::path& place) {
  const bool is_job = std::filesystem::is_directory(place) || place.extension() == ".json";
  if (!is_job) return read_vm_types(place);
  const JobConfig config = config_of(place);
  // The number of this machine's cores only says what `local` has, which is no type.
  std::vector<VmType> types =
      vm_types_of(provider_factory(config.provider.type).catalogue(config, 0));
  if (types.empty())
    throw InputError({.what = fmt::format("no machine of its provider ({}) has a type and a price",
                                          name_of(config.provider.type)),
                      .where = place.string(),
                      .remedy = "give machines a `type`, `cores` and `price_per_hour`, or name a "
                                "CSV file"});
  return types;
}

OfferedTypes offered_types(std::vector<VmType> types, const VmNarrowing& narrowing) {
  OfferedTypes offered;
  const auto is_wanted = [&](const VmType& type) {
    return narrowing.patterns.empty() || fits_patterns(type.features.name, narrowing.patterns);
  };
  const auto wanted = std::ranges::count_if(types, is_wanted);
  if (!narrowing.scores.empty()) score_types(types, narrowing.scores);
  offered.unscored = static_cast<std::size_t>(wanted - std::ranges::count_if(types, is_wanted));
  if (!narrowing.calibrations.empty())
    apply_calibrations(types, read_calibrations(narrowing.calibrations));
  for (const VmType& type : types) offered.features.push_back(type.features);
  std::erase_if(types, [&](const VmType& type) { return !is_wanted(type); });
  if (!narrowing.spot_prices.empty() && price_spot_types(types, narrowing.spot_prices) == 0)
    throw InputError({.what = "it has no price of any type to choose from",
                      .where = narrowing.spot_prices,
                      .remedy = "name machine types as the catalogue does"});
  offered.types = std::move(types);
  return offered;
}

}  // namespace scavenger::elastic
