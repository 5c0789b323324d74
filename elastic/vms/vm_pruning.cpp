#include "elastic/vms/vm_pruning.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "elastic/vms/vm_memory.h"

namespace scavenger::elastic {
namespace {

// Two unknown figures are alike; one that is known says nothing of one that is not.
bool at_least(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && a.value_or(0.0) >= b.value_or(0.0);
}

bool at_most(const std::optional<double>& a, const std::optional<double>& b) {
  return at_least(b, a);
}

// As good as `other` in everything that a plan depends on.
bool matches(const VmType& type, const VmType& other) {
  constexpr double kPlenty = std::numeric_limits<double>::infinity();
  return type.features.family == other.features.family && type.price <= other.price &&
         (!other.spot_price || at_most(type.spot_price, other.spot_price)) &&
         at_most(type.spot_losses, other.spot_losses) &&
         at_least(type.features.rate, other.features.rate) &&
         at_least(type.features.core_rate, other.features.core_rate) &&
         at_least(type.features.memory_bandwidth, other.features.memory_bandwidth) &&
         at_least(type.features.link, other.features.link) &&
         at_least(type.memory_gib, other.memory_gib) && at_most(type.vcpus, other.vcpus) &&
         type.max_count.value_or(kPlenty) >= other.max_count.value_or(kPlenty);
}

bool ran_on(const KnownModel& model, const VmType& type) {
  const auto is_there = [&](const perfmodel::TimeRow& row) {
    return row.machine == type.features.name;
  };
  return std::ranges::any_of(model.record.times, is_there) ||
         std::ranges::any_of(model.record.compute, is_there);
}

// Of the types on which the job ran. A machine that no catalogue has is taken for one without GPUs,
// unless a run has used some, whose type nobody knows.
std::set<std::string> measured_processors(const std::vector<VmType>& types,
                                          const KnownModel& model) {
  std::set<std::string> processors;
  for (const VmType& type : types)
    if (ran_on(model, type)) processors.insert(processor_of(type));
  if (processors.empty() && !model.used_gpus) processors.insert("cores");
  return processors;
}

std::string reason_against(const VmType& type, const KnownModel& model, const VmQuestion& question,
                           const std::set<std::string>& measured) {
  if (!measured.contains(processor_of(type)))
    return fmt::format("the job never ran on {}, and nothing else says what that does for it",
                       processor_of(type));
  const auto room = room_in_memory(type, model);
  if (room && *room < 1.0)
    return fmt::format("its {:g} GiB do not hold the model and a sample", *type.memory_gib);
  if (question.most_vcpus && type.vcpus && *type.vcpus > *question.most_vcpus)
    return fmt::format("its {:g} vCPUs are more than the quota of {:g}", *type.vcpus,
                       *question.most_vcpus);
  return {};
}

}  // namespace

std::vector<PrunedType> prune_types(std::vector<VmType>& types, const KnownModel& model,
                                    const VmQuestion& question) {
  const std::set<std::string> measured = measured_processors(types, model);
  std::vector<PrunedType> pruned;
  std::vector<VmType> kept;
  for (VmType& type : types) {
    std::string why = reason_against(type, model, question, measured);
    if (why.empty())
      kept.push_back(std::move(type));
    else
      pruned.push_back({type.features.name, std::move(why)});
  }
  types.clear();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    // Of two that match each other the first stays.
    const auto beats = [&](const VmType& other) {
      const bool is_before = &other < &kept[i];
      return &other != &kept[i] && matches(other, kept[i]) &&
             (is_before || !matches(kept[i], other));
    };
    const auto better = std::ranges::find_if(kept, beats);
    if (better == kept.end() || ran_on(model, kept[i]))
      types.push_back(kept[i]);
    else
      pruned.push_back({kept[i].features.name,
                        fmt::format("{} is as good in all and no dearer", better->features.name)});
  }
  if (measured.size() > 1)
    for (VmType& type : types)
      if (type.gpus > 0.0) type.features.rate = type.features.core_rate = std::nullopt;
  return pruned;
}

}  // namespace scavenger::elastic
