#include "elastic/vms/race/vm_race_setting.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "elastic/plan/run_record.h"
#include "elastic/plan/sharing_of.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"
#include "runtime/config/placement.h"
#include "runtime/schema/json.h"

namespace scavenger::elastic {
namespace {

[[noreturn]] void refuse(std::string what, std::string remedy) {
  throw InputError({.what = std::move(what), .where = "provider.vms", .remedy = std::move(remedy)});
}

}  // namespace

std::size_t VmRaceSetting::zones_of(const std::string& type) const {
  const auto found = zones.find(type);
  return found == zones.end() ? 1 : found->second;
}

VmRaceSetting vm_race_setting(const JobConfig& config, const MachineCatalogue& catalogue,
                              std::span<const perfmodel::ModelRecord> stored) {
  if (!seeks_machine_type(config.provider))
    refuse("this job does not search for its machine type", "set provider.vms.mode to auto");
  if (config.search.mode != SearchMode::kOff && config.search.mode != SearchMode::kAuto)
    refuse("a job that searches for its machine type can search for K and B as \"auto\" only",
           "set search.mode to auto, or leave out --search or --vms");
  const Json settings = parse_json<Json>(config.provider.settings).at("vms");
  VmRaceSetting setting;
  setting.policy = config.search.policy;
  setting.confidence = settings.at("confidence");
  if (const double budget = settings.at("profile_budget"); budget > 0.0)
    setting.profile_budget = budget;
  setting.max_vms = settings.at("max_vms");
  setting.sharing = sharing_of(config);
  setting.dead_band = config.batching.dead_band;
  setting.stop = config.stop;
  setting.spot = config.provider.spot;
  if (config.search.mode == SearchMode::kAuto) setting.batch_sizes = config.search.batch_sizes;
  setting.state_is_elsewhere = shard_count(config) > 0;
  // What the model is, and how much data there is, is known when it was built.
  const perfmodel::ModelSignature own =
      stored.empty() ? perfmodel::ModelSignature{} : signature_of(config, {});
  for (const perfmodel::ModelRecord& model : stored)
    if (model.signature.data_set == own.data_set && model.signature.optimizer == own.optimizer)
      setting.stored.push_back(model);
  const auto patterns = settings.at("types").get<std::string>();
  for (VmType& type : vm_types_of(catalogue)) {
    // An audition begins with what the catalogue says of a type, and of a GPU that is nothing.
    if (type.gpus > 0.0 || !fits_patterns(type.features.name, patterns)) continue;
    ++setting.zones[type.features.name];
    const auto same = [&](const VmType& other) {
      return other.features.name == type.features.name;  // in another zone
    };
    if (std::ranges::any_of(setting.types, same)) continue;
    setting.types.push_back(std::move(type));
  }
  if (setting.types.empty())
    refuse("no machine type of the provider has a price and cores, and fits the patterns",
           "check provider.vms.types and the prices of the machine types");
  return setting;
}

const perfmodel::ModelRecord* stored_model(const VmRaceSetting& setting,
                                           const RunNumbers& numbers) {
  if (!numbers.model) return nullptr;
  const auto found = std::ranges::find_if(setting.stored, [&](const auto& model) {
    return model.signature.architecture == numbers.model->fact.architecture &&
           model.signature.parameters == numbers.model->fact.parameter_count &&
           model.signature.samples_per_epoch == numbers.start.samples_per_epoch;
  });
  return found == setting.stored.end() ? nullptr : &*found;
}

std::vector<VmType> types_at_price(const VmRaceSetting& setting, bool spot) {
  std::vector<VmType> types = setting.types;
  for (VmType& type : types)
    if (spot && type.spot_price) type.price = *type.spot_price;
  return types;
}

std::vector<std::string> first_types(const VmRaceSetting& setting, std::uint32_t workers) {
  std::vector<std::tuple<bool, double, std::string>> types;
  for (const VmType& type : types_at_price(setting, setting.spot)) {
    const bool suffices = !type.max_count || *type.max_count >= workers;
    types.emplace_back(!suffices, type.price / type.features.rate.value_or(1.0),
                       type.features.name);
  }
  std::ranges::stable_sort(
      types, {}, [](const auto& type) { return std::pair(std::get<0>(type), std::get<1>(type)); });
  std::vector<std::string> names;
  for (const auto& type : types) names.push_back(std::get<2>(type));
  return names;
}

}  // namespace scavenger::elastic
