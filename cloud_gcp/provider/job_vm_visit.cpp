#include "cloud_gcp/provider/job_vm_visit.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "cloud_gcp/api/compute_json.h"
#include "cloud_gcp/api/leftovers.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"

namespace scavenger::gcp {
namespace {

awaitable<bool> look_and_delete(const GcpSettings& settings, const VmVisit& visit, HttpClient& http,
                                TokenSource& tokens, const Clock& clock, std::ostream& out) {
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
        out << (problem.empty() ? fmt::format("deleted {}\n", vm.name)
                                : fmt::format("NOT deleted {}: {}\n", vm.name, problem))
            << std::flush;
      };
  co_await delete_vms(client, vms, report);
  co_return is_all;
}

}  // namespace

GcpSettings settings_of_job(const std::filesystem::path& run_or_config) {
  const bool is_run = std::filesystem::is_directory(run_or_config);
  const std::filesystem::path file = is_run ? run_or_config / "config.json" : run_or_config;
  const JobConfig config =
      is_run ? read_resolved_config(file) : load_job_config(file, {}, DataFiles::kNotChecked);
  if (config.provider.type != ProviderType::kGcp)
    throw InputError(
        {.what = "this job has no machines on Compute Engine",
         .where = file,
         .remedy = "name a run folder or a configuration whose provider is of type gcp"});
  return gcp_settings(config.provider);
}

bool visit_job_vms(const GcpSettings& settings, const VmVisit& visit, std::ostream& out) {
  asio::io_context io;
  const SteadyClock clock;
  HttpClient http(io);
  const std::unique_ptr<TokenSource> tokens = find_credentials(settings.credentials, http, clock);
  std::exception_ptr failure;
  bool is_done = false;
  asio::co_spawn(io, look_and_delete(settings, visit, http, *tokens, clock, out),
                 [&](std::exception_ptr error, bool result) {
                   failure = std::move(error);
                   is_done = result;
                 });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return is_done;
}

}  // namespace scavenger::gcp
