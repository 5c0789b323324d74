#include "apps/provider_choice.h"

#include <algorithm>
#include <utility>

#include "cloud_gcp/gcp_provider.h"
#include "runtime/base/version.h"
#include "runtime/config/placement.h"
#include "runtime/provider/emulated/emulated_provider.h"
#include "runtime/provider/local/local_provider.h"
#include "runtime/provider/slurm/slurm_provider.h"
#include "runtime/provider/ssh/ssh_provider.h"

namespace scavenger {

std::unique_ptr<Provider> make_provider(asio::io_context& io, const JobConfig& config,
                                        std::uint32_t cores,
                                        const std::filesystem::path& program_folder,
                                        const std::filesystem::path& state_folder) {
  static const SteadyClock clock;
  switch (config.provider.type) {
    case ProviderType::kEmulated:
      return std::make_unique<EmulatedProvider>(io, emulated_settings(config.provider));
    case ProviderType::kSsh:
      return std::make_unique<SshProvider>(io, ssh_settings(config.provider), program_folder,
                                           version_line("scavenger-worker"));
    case ProviderType::kSlurm:
      return std::make_unique<SlurmProvider>(io, slurm_settings(config.provider));
    case ProviderType::kGcp: {
      gcp::GcpSettings settings = gcp::gcp_settings(config.provider);
      settings.workers = config.cluster.workers;
      return std::make_unique<gcp::GcpProvider>(io, std::move(settings), config.name, state_folder,
                                                clock);
    }
    default:
      return std::make_unique<LocalProvider>(io, config.cluster, cores);
  }
}

void check_provider(const JobConfig& config) {
  if (config.provider.type != ProviderType::kGcp) return;
  const gcp::GcpSettings settings = gcp::gcp_settings(config.provider);
  const SteadyClock clock;
  asio::io_context io;
  HttpClient http(io);
  const auto tokens = gcp::find_credentials(settings.credentials, http, clock);
  std::exception_ptr failure;
  asio::co_spawn(
      io, gcp::check_account(settings.place.project, settings.credentials, *tokens, http),
      [&failure](std::exception_ptr error, const std::string&) { failure = std::move(error); });
  io.run();
  if (failure) std::rethrow_exception(failure);
}

std::uint32_t room_for_workers(const JobConfig& config, std::uint32_t cores) {
  // Of machines that are rented there are as many as somebody pays for; a search begins modestly.
  constexpr std::uint32_t kRented = 8;
  std::uint32_t room = kRented;
  if (config.provider.type == ProviderType::kLocal) {
    room = config.cluster.hosts.empty() ? cores : places(config.cluster);
  } else if (config.provider.type == ProviderType::kEmulated) {
    std::uint32_t count = 0;
    for (const auto& type : emulated_settings(config.provider).types) count += type.count;
    room = std::min(count, kRented);
  } else if (config.provider.type == ProviderType::kSsh) {
    std::uint32_t count = 0;
    for (const auto& host : ssh_settings(config.provider).hosts) count += host.workers;
    room = std::min(count, kRented);
  }
  return room;
}

}  // namespace scavenger
