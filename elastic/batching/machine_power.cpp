#include "elastic/batching/machine_power.h"

#include <algorithm>

#include "cloud_gcp/gcp_settings.h"
#include "runtime/provider/emulated/emulated_settings.h"

namespace scavenger::elastic {
namespace {

std::map<std::string, double> powers_of_emulated(const ProviderConfig& provider) {
  std::map<std::string, double> powers;
  for (const EmulatedMachineType& type : emulated_settings(provider).types)
    powers[type.name] = type.cores;
  return powers;
}

// Of machines with GPUs the cores tell nothing.
std::map<std::string, double> powers_of_gcp(const ProviderConfig& provider) {
  const gcp::GcpSettings settings = gcp::gcp_settings(provider);
  if (settings.gpus.count > 0) return {};
  const gcp::PriceCatalog prices = gcp::price_catalog(settings);
  std::map<std::string, double> powers;
  for (const std::string& type : settings.machine_types) {
    const gcp::MachineShape shape = prices.shape(type);
    if (shape.gpus > 0.0) return {};
    powers[type] = shape.vcpus;
  }
  return powers;
}

}  // namespace

std::map<std::string, double> machine_powers(const JobConfig& config) {
  std::map<std::string, double> powers;
  if (config.provider.type == ProviderType::kEmulated) powers = powers_of_emulated(config.provider);
  if (config.provider.type == ProviderType::kGcp) powers = powers_of_gcp(config.provider);
  if (const std::uint32_t threads = config.cluster.threads_per_worker; threads > 0)
    for (auto& [type, power] : powers) power = std::min(power, static_cast<double>(threads));
  return powers;
}

}  // namespace scavenger::elastic
