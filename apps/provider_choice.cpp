#include "apps/provider_choice.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cloud_gcp/gcp_provider.h"
#include "runtime/base/version.h"
#include "runtime/config/placement.h"
#include "runtime/provider/emulated_provider.h"
#include "runtime/provider/local_provider.h"
#include "runtime/provider/slurm_provider.h"
#include "runtime/provider/ssh_provider.h"

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
    case ProviderType::kGcp:
      return std::make_unique<gcp::GcpProvider>(io, gcp::gcp_settings(config.provider), config.name,
                                                state_folder, clock);
    default:
      return std::make_unique<LocalProvider>(io, config.cluster, cores);
  }
}

std::uint32_t room_for_workers(const JobConfig& config, std::uint32_t cores) {
  // Of machines that are rented there are as many as somebody pays for; a search begins modestly.
  constexpr std::uint32_t kRented = 8;
  if (!config.provider.is_remote())
    return config.cluster.hosts.empty() ? cores : places(config.cluster);
  const nlohmann::json settings = nlohmann::json::parse(config.provider.settings);
  std::uint32_t count = 0;
  for (const nlohmann::json& machine : settings.value("machines", nlohmann::json::array()))
    count += machine.value("count", kRented);
  for (const nlohmann::json& host : settings.value("hosts", nlohmann::json::array()))
    count += host.value("workers", 1U);
  return count == 0 ? kRented : std::min(count, kRented);
}

}  // namespace scavenger
