#include "cloud_gcp/provider/job_vm_visit.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cloud_gcp/api/compute_json.h"
#include "cloud_gcp/api/leftovers.h"
#include "runtime/base/clock.h"

namespace scavenger::gcp {
namespace {

awaitable<bool> look_and_delete(const GcpSettings& settings, const MachineVisit& visit,
                                HttpClient& http, TokenSource& tokens, const Clock& clock,
                                std::ostream& out) {
  ComputePlace place = settings.place;
  place.project = co_await check_account(place.project, settings.credentials, tokens, http);
  ComputeClient client(place, settings.patience, http, tokens, clock);
  const std::vector<Instance> vms = co_await find_job_vms(client, settings.zones, visit.job);
  out << (vms.empty() ? "there are no VMs of Scavenger's jobs in these zones\n"
                      : vm_table(vms, price_catalog(settings), parse_rfc3339(utc_timestamp())));
  if (!visit.may_delete || vms.empty()) co_return true;
  if (!visit.may_delete(vms.size())) co_return false;
  bool is_all = true;
  const std::function<void(const Instance&, const std::string&)> report =
      [&](const Instance& vm, const std::string& problem) {
        is_all &= problem.empty();
        out << deletion_text(vm.name, problem) << std::flush;
      };
  co_await delete_vms(client, vms, report);
  co_return is_all;
}

}  // namespace

GcpSettings settings_of_job(const std::filesystem::path& run_or_config) {
  return gcp_settings(provider_of_job(run_or_config, ProviderType::kGcp, "on Compute Engine"));
}

bool visit_job_vms(const GcpSettings& settings, const MachineVisit& visit, std::ostream& out) {
  asio::io_context io;
  const SteadyClock clock;
  HttpClient http(io);
  const std::unique_ptr<TokenSource> tokens = find_credentials(settings.credentials, http, clock);
  return finish_visit(io, look_and_delete(settings, visit, http, *tokens, clock, out));
}

}  // namespace scavenger::gcp
