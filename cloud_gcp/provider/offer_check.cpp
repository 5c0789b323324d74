#include "cloud_gcp/provider/offer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/base/log.h"

namespace scavenger::gcp {
namespace {

// The catalog and Compute Engine give GiB in other digits.
constexpr double kShapeTolerance = 0.01;

bool is_near(double a, double b) {
  return std::abs(a - b) <= kShapeTolerance * std::max(a, b);
}

// Its price would be another than we think.
void require_priced_shape(const MachineType& type, const PriceCatalog& prices,
                          const std::string& zone, const std::string& project) {
  const MachineShape shape = prices.shape(type.name);
  if (type.has_shared_cores ||
      (is_near(shape.vcpus, type.vcpus) && is_near(shape.memory_gib, type.memory_gib)))
    return;
  CloudFault fault;
  fault.kind = FaultKind::kInvalid;
  fault.code = "machine type";
  fault.message = fmt::format(
      "{} has {:g} vCPUs and {:g} GiB, and the price catalog of {} has {:g} vCPUs and {:g} GiB: "
      "refresh it (scavenger-plan prices --refresh)",
      type.name, type.vcpus, type.memory_gib, prices.as_of(), shape.vcpus, shape.memory_gib);
  throw CloudError(fault, "zone " + zone, project);
}

CloudFault no_such_type(const std::vector<Offer>& offers) {
  CloudFault fault;
  fault.kind = FaultKind::kInvalid;
  fault.code = "machine type";
  std::string tried;
  for (const Offer& offer : offers)
    tried += fmt::format("{}{} in {}", tried.empty() ? "" : ", ", offer.machine_type, offer.zone);
  fault.message = "no zone has such a machine: " + tried;
  return fault;
}

struct RegionRoom {
  std::string region;
  QuotaRoom room;
};

std::string text_of(const RegionRoom& found) {
  const Quota& quota = *found.room.tightest;
  return fmt::format(
      "region {} has a limit of {:g} {}, of which {:g} are in use, and a VM takes {:g}",
      found.region, quota.limit, quota.metric, quota.usage, found.room.per_vm);
}

// Only of limits: what others use now, they may give back.
void require_room(const std::vector<RegionRoom>& regions, unsigned workers,
                  const std::string& project) {
  double room = 0.0;
  double room_now = 0.0;
  std::string story;
  const RegionRoom* best = nullptr;
  for (const RegionRoom& found : regions) {
    room += found.room.vms;
    if (!found.room.tightest) return;  // without limit
    const Quota& quota = *found.room.tightest;
    room_now += std::floor(std::max(0.0, quota.limit - quota.usage) / found.room.per_vm);
    if (best == nullptr || found.room.vms > best->room.vms) best = &found;
    story += (story.empty() ? "" : "; ") + text_of(found);
  }
  if (best == nullptr) return;
  if (room >= workers) {
    if (room_now < workers)
      log_warning("there is room for {:g} of {} workers now: {}", room_now, workers, story);
    return;
  }
  CloudFault fault;
  fault.kind = FaultKind::kQuota;
  fault.code = "too small for this job";
  fault.subject = best->room.tightest->metric;
  fault.limit = fmt::format("{:g}", best->room.tightest->limit);
  fault.message =
      fmt::format("{} workers can never be had, {:g} at most: {}", workers, room, story);
  throw CloudError(fault, "region " + best->region, project);
}

}  // namespace

awaitable<std::vector<Offer>> check_offers(ComputeClient& client, const PriceCatalog& prices,
                                           std::vector<Offer> offers, VmDemand demand,
                                           unsigned workers) {
  const std::string& project = client.place().project;
  std::vector<Offer> had;
  std::map<std::string, std::vector<MachineType>> types;  // by region
  for (const Offer& offer : offers) {
    const auto type = co_await client.machine_type(offer.zone, offer.machine_type);
    if (!type) {
      log_warning("zone {} has no {}", offer.zone, offer.machine_type);
      continue;
    }
    require_priced_shape(*type, prices, offer.zone, project);
    had.push_back(offer);
    types[region_of_zone(offer.zone)].push_back(*type);
  }
  if (had.empty()) throw CloudError(no_such_type(offers), offers.front().zone, project);
  std::vector<RegionRoom> rooms;
  for (const auto& [region, found] : types) {
    const std::vector<Quota> quotas = co_await client.quotas(region);
    rooms.push_back({region, quota_room(found, demand, quotas)});
  }
  require_room(rooms, workers, project);
  co_return had;
}

}  // namespace scavenger::gcp
