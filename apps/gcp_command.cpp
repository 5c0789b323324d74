#include "apps/gcp_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

#include "cloud_gcp/compute_json.h"
#include "cloud_gcp/gcp_settings.h"
#include "cloud_gcp/leftovers.h"
#include "runtime/base/clock.h"
#include "runtime/config/config_file.h"

namespace scavenger {
namespace {

gcp::GcpSettings settings_from(const std::filesystem::path& source) {
  const bool is_run = std::filesystem::is_directory(source);
  const std::filesystem::path file = is_run ? source / "config.json" : source;
  const JobConfig config =
      is_run ? read_resolved_config(file) : load_job_config(file, {}, DataFiles::kNotChecked);
  if (config.provider.type != ProviderType::kGcp)
    throw InputError(
        {.what = "this job has no machines on Compute Engine",
         .where = file,
         .remedy = "name a run folder or a configuration whose provider is of type gcp"});
  return gcp::gcp_settings(config.provider);
}

bool confirmed(std::size_t count) {
  if (::isatty(STDIN_FILENO) == 0)
    throw InputError(
        {.what = "nobody can be asked here", .where = "gcp sweep", .remedy = "add --yes"});
  std::cout << fmt::format(
                   "Delete {} of them for good? Jobs that still run lose their workers. [y/N] ",
                   count)
            << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

// What both commands do: find, show; and sweep deletes. The number that is left.
class Visit final {
 public:
  Visit(asio::io_context& io, const gcp::GcpSettings& settings)
      : settings_(settings),
        http_(io),
        tokens_(gcp::find_credentials(settings.credentials, http_, clock_)) {}

  awaitable<int> run(std::string job, bool sweeps, bool is_certain) {
    gcp::ComputePlace place = settings_.place;
    place.project =
        co_await gcp::check_account(place.project, settings_.credentials, *tokens_, http_);
    gcp::ComputeClient client(place, settings_.patience, http_, *tokens_, clock_);
    const auto vms = co_await gcp::find_job_vms(client, settings_.zones, job);
    const gcp::PriceCatalog prices = gcp::price_catalog(settings_);
    std::cout << (vms.empty() ? "there are no VMs of Scavenger's jobs in these zones\n"
                              : gcp::vm_table(vms, prices, gcp::parse_rfc3339(utc_timestamp())));
    if (!sweeps || vms.empty()) co_return 0;
    if (!is_certain && !confirmed(vms.size())) co_return 1;
    int left = 0;
    const std::function<void(const gcp::Instance&, const std::string&)> report =
        [&left](const gcp::Instance& vm, const std::string& problem) {
          left += problem.empty() ? 0 : 1;
          std::cout << (problem.empty() ? fmt::format("deleted {}\n", vm.name)
                                        : fmt::format("NOT deleted {}: {}\n", vm.name, problem))
                    << std::flush;
        };
    co_await gcp::delete_vms(client, vms, report);
    co_return left == 0 ? 0 : 1;
  }

 private:
  const gcp::GcpSettings& settings_;
  SteadyClock clock_;
  HttpClient http_;
  std::unique_ptr<gcp::TokenSource> tokens_;
};

}  // namespace

GcpCommand::GcpCommand(CLI::App& app) {
  command_ = app.add_subcommand("gcp", "VMs that jobs have on Google Compute Engine");
  command_->require_subcommand(1);
  add_options(*command_->add_subcommand("list", "Show them"));
  sweep_ = command_->add_subcommand("sweep", "Delete them, after asking");
  add_options(*sweep_);
  sweep_->add_flag("--yes", is_certain_, "Do not ask");
}

void GcpCommand::add_options(CLI::App& command) {
  command
      .add_option("SOURCE", source_,
                  "A run folder, or a configuration: project, zones, credentials")
      ->required()
      ->check(CLI::ExistingPath);
  command.add_option("--job", job_, "Only of this job, as list shows it");
  command.add_option("--zone", zones_, "Other zones than those of SOURCE");
}

bool GcpCommand::is_called() const {
  return command_->parsed();
}

int GcpCommand::run() const {
  gcp::GcpSettings settings = settings_from(source_);
  if (!zones_.empty()) settings.zones = zones_;
  asio::io_context io;
  Visit visit(io, settings);
  std::exception_ptr failure;
  int code = 1;
  asio::co_spawn(io, visit.run(job_, sweep_->parsed(), is_certain_),
                 [&](std::exception_ptr error, int result) {
                   failure = std::move(error);
                   code = result;
                 });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return code;
}

}  // namespace scavenger
