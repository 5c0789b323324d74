#include "cloud_gcp/api/leftovers.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cloud_gcp/api/identity.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"

namespace scavenger::gcp {
namespace {

std::string label(const Instance& vm, const char* name) {
  const auto found = vm.labels.find(name);
  return found == vm.labels.end() ? "-" : found->second;
}

// "worker 3": VMs of one request have the same labels, so their names tell.
std::string process_of(const Instance& vm) {
  const std::string before = label(vm, kJobLabel) + "-" + label(vm, kRoleLabel) + "-";
  if (!vm.name.starts_with(before)) return "-";
  const std::string after = vm.name.substr(before.size());
  return label(vm, kRoleLabel).substr(0, 6) + " " + after.substr(0, after.find('-'));
}

std::string price_text(const Instance& vm, const PriceCatalog& prices) {
  try {
    return fmt::format("{:.4f}", prices.per_hour(vm.machine_type, region_of_zone(vm.zone),
                                                 provisioning_of(vm.is_spot)));
  } catch (const ConfigError&) {
    return "?";
  }
}

awaitable<std::string> deletion_problem(ComputeClient& client, Instance vm, std::string request) {
  const ChangeResult result = co_await client.remove(vm.zone, vm.name, std::move(request));
  if (result.outcome == Outcome::kDone) co_return std::string();
  co_return Error(client.problem(*result.fault, "zone " + vm.zone)).what();
}

}  // namespace

awaitable<std::vector<Instance>> find_job_vms(ComputeClient& client, std::vector<std::string> zones,
                                              std::string job_id) {
  std::vector<Instance> found;
  const std::string filter = job_id.empty() ? any_job_filter() : job_filter(job_id);
  for (const std::string& zone : zones) {
    std::vector<Instance> here = co_await client.list(zone, filter);
    std::move(here.begin(), here.end(), std::back_inserter(found));
  }
  std::stable_sort(found.begin(), found.end(), [](const Instance& a, const Instance& b) {
    return a.created_seconds < b.created_seconds;
  });
  co_return found;
}

awaitable<void> delete_vms(ComputeClient& client, std::vector<Instance> vms,
                           std::function<void(const Instance&, const std::string&)> report) {
  const auto executor = co_await asio::this_coro::executor;
  auto open = std::make_shared<std::size_t>(vms.size());
  auto all_done =
      std::make_shared<asio::steady_timer>(executor, asio::steady_timer::time_point::max());
  RandomStream ids(random_seed(), "deletions");
  for (const Instance& vm : vms)
    asio::co_spawn(
        executor, deletion_problem(client, vm, request_id(ids)),
        [vm, report, open, all_done](const std::exception_ptr&, const std::string& problem) {
          report(vm, problem);
          if (--*open == 0) all_done->cancel();
        });
  const auto quietly = asio::as_tuple(use_awaitable);
  if (*open > 0) co_await all_done->async_wait(quietly);
}

std::string vm_table(std::span<const Instance> vms, const PriceCatalog& prices,
                     double now_seconds) {
  std::string text =
      fmt::format("{:<34} {:<8} {:<16} {:<16} {:<12} {:<9} {:>12} {:>8}  {}\n", "job", "process",
                  "zone", "machine", "status", "kind", "age", "$/h", "name");
  for (const Instance& vm : vms)
    text += fmt::format("{:<34} {:<8} {:<16} {:<16} {:<12} {:<9} {:>12} {:>8}  {}\n",
                        label(vm, kJobLabel), process_of(vm), vm.zone, vm.machine_type, vm.status,
                        vm.is_spot ? "spot" : "on demand",
                        format_duration(std::max(0.0, now_seconds - vm.created_seconds)),
                        price_text(vm, prices), vm.name);
  return text;
}

}  // namespace scavenger::gcp
