#include "elastic/planning/vm_catalogue.h"

#include <fmt/format.h>

#include "elastic/providers/job_provider.h"
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

}  // namespace scavenger::elastic
